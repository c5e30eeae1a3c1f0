"""The search indexes behind the alias"""

from alembic import op
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

revision = '0009'
down_revision = '0008'


def upgrade() -> None:
    op.create_table('search_indexes',
    sa.Column('name', sa.Text(), nullable=False),
    sa.Column('model', sa.Text(), nullable=False),
    sa.Column('revision', sa.Text(), nullable=False),
    sa.Column('dimension', sa.Integer(), nullable=False),
    sa.Column('chunker', sa.Text(), nullable=False),
    sa.Column('state', sa.Text(), nullable=False),
    sa.Column('reason', sa.Text(), nullable=True, comment='why it was rejected'),
    sa.Column('report', postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.Column('serving_since', sa.DateTime(timezone=True), nullable=True),
    sa.Column('retired_at', sa.DateTime(timezone=True), nullable=True),
    sa.CheckConstraint("state in ('serving', 'building', 'rejected', 'retired')", name=op.f('ck_search_indexes_state')),
    sa.CheckConstraint("(state = 'rejected') = (reason is not null)", name=op.f('ck_search_indexes_rejected_has_reason')),
    sa.CheckConstraint("(state = 'retired') = (retired_at is not null)", name=op.f('ck_search_indexes_retired_has_time')),
    sa.PrimaryKeyConstraint('name', name=op.f('pk_search_indexes')),
    schema='askline'
    )
    op.add_column('chunks', sa.Column('replaced_at', sa.DateTime(timezone=True), nullable=True), schema='askline')
    op.drop_constraint('uq_chunks_version_id_ordinal', 'chunks', schema='askline')
    op.create_index('ix_chunks_version_id', 'chunks', ['version_id'], schema='askline')
    op.create_index('uq_chunks_version_id_ordinal', 'chunks', ['version_id', 'ordinal'], unique=True, schema='askline',
                    postgresql_where=sa.text('replaced_at is null'))
    op.create_index('uq_search_indexes_serving', 'search_indexes', ['state'], unique=True, schema='askline',
                    postgresql_where=sa.text("state = 'serving'"))


def downgrade() -> None:
    op.execute('delete from askline.chunks where replaced_at is not null')
    op.drop_index('uq_chunks_version_id_ordinal', 'chunks', schema='askline')
    op.drop_index('ix_chunks_version_id', 'chunks', schema='askline')
    op.create_unique_constraint('uq_chunks_version_id_ordinal', 'chunks', ['version_id', 'ordinal'], schema='askline')
    op.drop_column('chunks', 'replaced_at', schema='askline')
    op.drop_table('search_indexes', schema='askline')
