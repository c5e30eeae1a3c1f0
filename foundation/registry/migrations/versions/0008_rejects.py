"""A table of the irregular rows of a file, beside the tables that they did not fit"""

from alembic import op
import sqlalchemy as sa
revision = '0008'
down_revision = '0007'


def upgrade() -> None:
    op.add_column('datasets', sa.Column('rejects', sa.Boolean(), nullable=False, server_default=sa.text('false'),
                                        comment='the irregular rows of its file'), schema='askline')


def downgrade() -> None:
    op.drop_column('datasets', 'rejects', schema='askline')
