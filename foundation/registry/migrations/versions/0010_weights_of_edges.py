"""How much evidence an edge has, in the indexes of its ends, so that a hub's best edges are found without reading all"""

from alembic import op
import sqlalchemy as sa
revision = '0010'
down_revision = '0009'


def upgrade() -> None:
    op.add_column('edges', sa.Column('weight', sa.Integer(), server_default='0', nullable=False,
                                     comment='its mentions, whoever may see them'), schema='askline')
    # A million edges take a minute. No session should end a migration halfway.
    op.execute('set local statement_timeout = 0')
    for end in ('source_id', 'target_id'):
        op.drop_index(f'ix_edges_{end}', table_name='edges', schema='askline')
    op.execute("""
        update askline.edges e set weight = m.count
        from (select edge_id, count(*) from askline.mentions where edge_id is not null group by edge_id) m
        where m.edge_id = e.edge_id
    """)
    for end in ('source_id', 'target_id'):
        op.create_index(f'ix_edges_{end}', 'edges', [end, sa.text('weight desc'), 'edge_id'], schema='askline')


def downgrade() -> None:
    for end in ('source_id', 'target_id'):
        op.drop_index(f'ix_edges_{end}', table_name='edges', schema='askline')
        op.create_index(f'ix_edges_{end}', 'edges', [end], schema='askline')
    op.drop_column('edges', 'weight', schema='askline')
