{{ define "packages" -}}
{{ range .packages -}}
<h1>{{ packageDisplayName . }} API reference</h1>
<p>Generated from the types by <code>make api-docs</code>; the specifications under <code>docs/spec</code> explain them.</p>
{{ range sortedTypes (visibleTypes .Types) -}}
{{ template "type" . -}}
{{ end -}}
{{ end -}}
{{ end -}}
