"""A version keeps the card that came with it and the versions that it supersedes or amends; an erasure, what it kept"""

from alembic import op
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
revision = '0004'
down_revision = '0003'


def upgrade() -> None:
    op.add_column('documents', sa.Column('effective_date', sa.Text(), comment='ISO date, of the version that answers'),
                  schema='askline')
    op.add_column('documents', sa.Column('sidecar_sha256', sa.Text(),
                                         comment='of the NAME.meta.json that was taken last'), schema='askline')
    op.add_column('document_versions', sa.Column('card', postgresql.JSONB(), server_default=sa.text("'{}'"),
                                                 nullable=False), schema='askline')
    op.add_column('erasures', sa.Column('kept', postgresql.ARRAY(sa.Text()), server_default=sa.text("'{}'"),
                                        nullable=False), schema='askline')
    op.create_table('version_relations',
    sa.Column('document_id', sa.Text(), nullable=False),
    sa.Column('version_id', sa.Text(), nullable=False),
    sa.Column('kind', sa.Text(), nullable=False),
    sa.Column('target', sa.Text(), nullable=False, comment="a document's id, or the name of its file"),
    sa.CheckConstraint("kind in ('supersedes', 'amends')", name=op.f('ck_version_relations_kind')),
    sa.ForeignKeyConstraint(['document_id', 'version_id'],
                            ['askline.document_versions.document_id', 'askline.document_versions.version_id'],
                            name=op.f('fk_version_relations_document_id'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('document_id', 'version_id', 'kind', 'target', name=op.f('pk_version_relations')),
    schema='askline'
    )
    op.create_index('ix_version_relations_target', 'version_relations', [sa.text('lower(target)')], schema='askline')
    # What the active version was uploaded with is what its document says now.
    op.execute("""
        update askline.document_versions v set card = jsonb_strip_nulls(jsonb_build_object(
            'document_type', d.document_type, 'authority', d.authority, 'source_url', d.source_url,
            'accessed_at', d.accessed_at, 'licence', d.licence))
        from askline.documents d where d.document_id = v.document_id and d.active_version = v.version_id
    """)


def downgrade() -> None:
    op.drop_table('version_relations', schema='askline')
    op.drop_column('erasures', 'kept', schema='askline')
    op.drop_column('document_versions', 'card', schema='askline')
    op.drop_column('documents', 'sidecar_sha256', schema='askline')
    op.drop_column('documents', 'effective_date', schema='askline')
