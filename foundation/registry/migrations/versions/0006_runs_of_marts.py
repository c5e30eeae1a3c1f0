"""Lineage of a mart: the run that published it, and which of them an answer has read"""

from alembic import op
import sqlalchemy as sa
revision = '0006'
down_revision = '0005'


def upgrade() -> None:
    op.add_column('datasets', sa.Column('run_id', sa.Text(), comment='the run that published a mart; null for an upload'),
                  schema='askline')
    op.add_column('answer_tables', sa.Column('run_id', sa.Text(),
                                             comment='the run that had published the mart when it was read'),
                  schema='askline')


def downgrade() -> None:
    op.drop_column('answer_tables', 'run_id', schema='askline')
    op.drop_column('datasets', 'run_id', schema='askline')
