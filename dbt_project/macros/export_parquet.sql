{#- Write a mart to <ASKLINE_DBT_FOLDER>/marts/<name>.parquet, from where pipelines/marts.py publishes it. -#}
{% macro export_parquet(relation) %}
  {% if execute and target.type == 'duckdb' %}
    {% set path = env_var('ASKLINE_DBT_FOLDER') ~ '/marts/' ~ relation.identifier ~ '.parquet' %}
    copy (select * from {{ relation }}) to '{{ path | replace("'", "''") }}' (format parquet, compression zstd)
  {% endif %}
{% endmacro %}
