{#- Schemas are named as they are configured; in Glue, which others use too, with the target's schema before them. -#}
{% macro generate_schema_name(custom_schema_name, node) %}
  {%- if target.type == 'athena' and custom_schema_name -%}
    {{- target.schema ~ '_' ~ custom_schema_name -}}
  {%- else -%}
    {{- custom_schema_name or target.schema -}}
  {%- endif -%}
{% endmacro %}
