"""A document knows the archive or mail that it came out of, and its place in there"""

from alembic import op
import sqlalchemy as sa
revision = '0005'
down_revision = '0004'


def upgrade() -> None:
    op.add_column('documents', sa.Column('parent_id', sa.Text(), comment='the document that holds it: an archive, a mail'),
                  schema='askline')
    op.add_column('documents', sa.Column('parent_path', sa.Text(), comment='its place in that document'),
                  schema='askline')
    op.create_index('ix_documents_parent_id', 'documents', ['parent_id'], schema='askline',
                    postgresql_where=sa.text('parent_id is not null'))


def downgrade() -> None:
    op.drop_index('ix_documents_parent_id', table_name='documents', schema='askline')
    op.drop_column('documents', 'parent_path', schema='askline')
    op.drop_column('documents', 'parent_id', schema='askline')
