"""An alias belongs to the version that used it, so that it is seen by whoever may see that version"""

from alembic import op
import sqlalchemy as sa
revision = '0002'
down_revision = '0001'


def upgrade() -> None:
    # Derived data: the graph stages write it again.
    op.execute('delete from askline.node_aliases')
    op.add_column('node_aliases', sa.Column('version_id', sa.Text(), nullable=False), schema='askline')
    op.drop_constraint('pk_node_aliases', 'node_aliases', schema='askline')
    op.create_primary_key('pk_node_aliases', 'node_aliases', ['node_id', 'alias', 'version_id'], schema='askline')
    op.create_index('ix_node_aliases_version_id', 'node_aliases', ['version_id'], schema='askline')
    op.drop_index('ix_node_aliases_alias', table_name='node_aliases', schema='askline')
    # text_pattern_ops serves equality and prefixes, whatever the database's collation.
    op.create_index('ix_node_aliases_alias', 'node_aliases', ['alias'], schema='askline',
                    postgresql_ops={'alias': 'text_pattern_ops'})


def downgrade() -> None:
    op.execute('delete from askline.node_aliases')
    op.drop_index('ix_node_aliases_alias', table_name='node_aliases', schema='askline')
    op.create_index('ix_node_aliases_alias', 'node_aliases', ['alias'], schema='askline')
    op.drop_index('ix_node_aliases_version_id', table_name='node_aliases', schema='askline')
    op.drop_constraint('pk_node_aliases', 'node_aliases', schema='askline')
    op.drop_column('node_aliases', 'version_id', schema='askline')
    op.create_primary_key('pk_node_aliases', 'node_aliases', ['node_id', 'alias'], schema='askline')
