"""A table's name belongs to the document, not to the content, so that equal bytes do not tell another file's name"""

from alembic import op
import sqlalchemy as sa
revision = '0003'
down_revision = '0002'


def upgrade() -> None:
    op.create_table(
        'document_tables',
        sa.Column('document_id', sa.Text(), nullable=False),
        sa.Column('dataset_id', sa.Text(), nullable=False),
        sa.Column('version_id', sa.Text(), nullable=False),
        sa.Column('table_name', sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(['dataset_id'], ['askline.datasets.dataset_id'], ondelete='CASCADE',
                                name=op.f('fk_document_tables_dataset_id')),
        sa.ForeignKeyConstraint(['document_id', 'version_id'],
                                ['askline.document_versions.document_id', 'askline.document_versions.version_id'],
                                ondelete='CASCADE', name=op.f('fk_document_tables_document_id')),
        sa.PrimaryKeyConstraint('document_id', 'dataset_id', name=op.f('pk_document_tables')),
        sa.UniqueConstraint('document_id', 'version_id', 'table_name',
                            name=op.f('uq_document_tables_document_id_version_id_table_name')),
        schema='askline',
    )
    op.create_index('ix_document_tables_dataset_id', 'document_tables', ['dataset_id'], schema='askline')
    # The oldest document gave the name and keeps it; others with the same bytes get one that tells nothing of it.
    op.execute("""
        insert into askline.document_tables (document_id, dataset_id, version_id, table_name)
        select v.document_id, d.dataset_id, d.version_id,
            case when row_number() over (partition by d.dataset_id order by o.created_at, o.document_id) = 1
                then d.table_name else 'table_' || d.ordinal + 1 || '_' || right(v.document_id, 8) end
        from askline.datasets d
        join askline.document_versions v using (version_id)
        join askline.documents o using (document_id)
        where d.kind = 'upload'
    """)
    # A copy is named after its dataset; the view that is queried bears the same name.
    op.execute("""
        do $$
        declare found record;
        begin
            for found in
                select d.dataset_id, d.table_name, d.postgres_table, 't_' || substr(d.dataset_id, 5) as relation,
                    exists (select from askline.documents o where o.active_version = d.version_id) as active
                from askline.datasets d where d.kind = 'upload' and d.postgres_table is not null
            loop
                if to_regclass(format('copies.%I', found.postgres_table)) is not null then
                    execute format('alter table copies.%I rename to %I', found.postgres_table, found.relation);
                    if found.active then
                        execute format('drop view if exists data.%I', found.table_name);
                        execute format('create view data.%I as select * from copies.%I', found.relation, found.relation);
                        execute format('grant select on data.%I to askline_reader', found.relation);
                    end if;
                end if;
                update askline.table_links set postgres_table = found.relation where dataset_id = found.dataset_id;
                update askline.datasets set postgres_table = found.relation where dataset_id = found.dataset_id;
            end loop;
        end $$
    """)
    op.drop_index('ix_datasets_table_name', table_name='datasets', schema='askline')
    op.alter_column('datasets', 'table_name', nullable=True, schema='askline')
    # A label may be the first file's name: only what is surely the sheet's stays until the tables are parsed again.
    op.execute("update askline.datasets set table_name = null,"
               " label = case when label = sheet then label else '' end where kind = 'upload'")
    op.create_check_constraint('only_marts_are_named', 'datasets',
                               "(kind = 'mart') = (table_name is not null)", schema='askline')
    op.drop_column('table_links', 'catalog_table', schema='askline')
    op.execute("update askline.stages set counts = counts - 'names'")
    op.execute("update askline.document_versions set counts = counts - 'names'")


def downgrade() -> None:
    raise NotImplementedError('Names by document cannot be folded back into names by content.')
