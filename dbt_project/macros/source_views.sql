{#- One view a source table, over the tables that satisfy its contract, in the contract's column types.

    pipelines/transform/contracts.py lists them before dbt starts, for DuckDB in <ASKLINE_DBT_FOLDER>/sources.json:
    {"encounters": [{"from": "read_parquet('/…/table.parquet')", "columns": ["id", …], "types": {"id": "text", …}}, …], …}
    and for Athena, where a statement cannot read that file, each source in the variable ASKLINE_DBT_SOURCE_<NAME>.

    Each is cast on its own: read_parquet(…, union_by_name = true) takes the type of one file for all, so that it
    fails on a code that is a number in one file and a date in another. -#}
{% macro create_source_views() %}
  {% if execute %}
    {% for source in graph.sources.values() %}
      {% set files = source_files(source.name) %}
      {% set relation = api.Relation.create(database=source.database, schema=source.schema, identifier=source.identifier, type='view') %}
      {% if loop.first %}{% do adapter.create_schema(relation) %}{% endif %}
      {% if files %}
        {% do run_query('create or replace view ' ~ relation ~ ' as ' ~ source_query(source, files)) %}
      {% else %}
        {% do run_query('drop view if exists ' ~ relation) %}
      {% endif %}
    {% endfor %}
  {% endif %}
{% endmacro %}


{% macro source_files(name) %}
  {% if target.type == 'duckdb' %}
    {% set listing = env_var('ASKLINE_DBT_FOLDER') ~ '/sources.json' %}
    {% set content = run_query("select content from read_text('" ~ listing | replace("'", "''") ~ "')") %}
    {{ return(fromjson(content.columns[0].values()[0]).get(name)) }}
  {% endif %}
  {{ return(fromjson(env_var('ASKLINE_DBT_SOURCE_' ~ name | upper, 'null'))) }}
{% endmacro %}


{#- A row that stands in several files (overlapping exports) counts as often as in the file that has it most often. -#}
{% macro source_query(source, files) %}
  {% set names = [] %}
  {% for column in source.columns.values() %}{% do names.append(adapter.quote(column.name)) %}{% endfor %}
  {% set names = names | join(', ') %}
  {% if files | length == 1 %}
    {{ return(file_query(source, files[0], none)) }}
  {% endif %}
  {% set parts = [] %}
  {% for file in files %}{% do parts.append(file_query(source, file, names)) %}{% endfor %}
  {{ return('select ' ~ names ~ ' from (' ~ parts | join(' union ') ~ ')') }}
{% endmacro %}


{% macro file_query(source, file, numbered_by) %}
  {% set columns = [] %}
  {% for column in source.columns.values() %}
    {% do columns.append('cast(' ~ source_value(column, file) ~ ' as ' ~ column.data_type ~ ') as ' ~ adapter.quote(column.name)) %}
  {% endfor %}
  {% set query = 'select ' ~ columns | join(', ') ~ ' from ' ~ file['from'] %}
  {% if numbered_by %}
    {% set query = 'select *, row_number() over (partition by ' ~ numbered_by ~ ') as copy_number from (' ~ query ~ ')' %}
  {% endif %}
  {{ return(query) }}
{% endmacro %}


{#- Athena writes 1.5 as 1.5E0 and midnight as 00:00:00.000, where a column of text was read as another type. -#}
{% macro source_value(column, file) %}
  {% if column.name not in file.columns %}{{ return('null') }}{% endif %}
  {% set value, type = adapter.quote(column.name), file.types[column.name] %}
  {% if target.type == 'athena' and column.data_type == 'varchar' and type == 'double' %}
    {{ return('json_format(cast(' ~ value ~ ' as json))') }}
  {% elif target.type == 'athena' and column.data_type == 'varchar' and type == 'timestamp' %}
    {{ return('date_format(' ~ value ~ ", '%Y-%m-%d %H:%i:%s')") }}
  {% endif %}
  {{ return(value) }}
{% endmacro %}
