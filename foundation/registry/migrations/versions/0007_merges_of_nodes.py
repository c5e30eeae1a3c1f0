"""Decisions which nodes are one thing: what they were found by, what was decided, what a person pinned"""

from alembic import op
import sqlalchemy as sa
revision = '0007'
down_revision = '0006'


def upgrade() -> None:
    op.create_table(
        'node_keys',
        sa.Column('key', sa.Text(), nullable=False),
        sa.Column('node_id', sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(['node_id'], ['askline.nodes.node_id'], ondelete='CASCADE',
                                name=op.f('fk_node_keys_node_id')),
        sa.PrimaryKeyConstraint('key', 'node_id', name=op.f('pk_node_keys')),
        schema='askline',
    )
    op.create_index('ix_node_keys_node_id', 'node_keys', ['node_id'], schema='askline')
    op.create_table(
        'node_merges',
        sa.Column('left_id', sa.Text(), nullable=False),
        sa.Column('right_id', sa.Text(), nullable=False),
        sa.Column('same', sa.Boolean(), nullable=False),
        sa.Column('rule', sa.Text(), nullable=False),
        sa.Column('reason', sa.Text(), nullable=False),
        sa.Column('score', sa.Float(), nullable=False),
        sa.Column('decided_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'),
                  nullable=False),
        sa.CheckConstraint('left_id < right_id', name=op.f('ck_node_merges_once_a_pair')),
        sa.ForeignKeyConstraint(['left_id'], ['askline.nodes.node_id'], ondelete='CASCADE',
                                name=op.f('fk_node_merges_left_id')),
        sa.ForeignKeyConstraint(['right_id'], ['askline.nodes.node_id'], ondelete='CASCADE',
                                name=op.f('fk_node_merges_right_id')),
        sa.PrimaryKeyConstraint('left_id', 'right_id', name=op.f('pk_node_merges')),
        schema='askline',
    )
    op.create_index('ix_node_merges_right_id', 'node_merges', ['right_id'], schema='askline')
    op.create_table(
        'merge_pins',
        sa.Column('left_id', sa.Text(), nullable=False),
        sa.Column('right_id', sa.Text(), nullable=False),
        sa.Column('same', sa.Boolean(), nullable=False),
        sa.Column('reason', sa.Text(), nullable=False),
        sa.Column('pinned_by', sa.Text(), nullable=False),
        sa.Column('pinned_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'),
                  nullable=False),
        sa.CheckConstraint('left_id < right_id', name=op.f('ck_merge_pins_once_a_pair')),
        sa.PrimaryKeyConstraint('left_id', 'right_id', name=op.f('pk_merge_pins')),
        schema='askline',
    )
    op.create_index('ix_merge_pins_right_id', 'merge_pins', ['right_id'], schema='askline')
    op.create_table(
        'node_clusters',
        sa.Column('node_id', sa.Text(), nullable=False),
        sa.Column('cluster_id', sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(['node_id'], ['askline.nodes.node_id'], ondelete='CASCADE',
                                name=op.f('fk_node_clusters_node_id')),
        sa.PrimaryKeyConstraint('node_id', name=op.f('pk_node_clusters')),
        schema='askline',
    )
    op.create_index('ix_node_clusters_cluster_id', 'node_clusters', ['cluster_id'], schema='askline')


def downgrade() -> None:
    for table in ('node_clusters', 'merge_pins', 'node_merges', 'node_keys'):
        op.drop_table(table, schema='askline')
