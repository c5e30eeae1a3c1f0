{#- Schemas are named as they are configured, without the target's schema before them. -#}
{% macro generate_schema_name(custom_schema_name, node) %}
  {{- custom_schema_name or target.schema -}}
{% endmacro %}
