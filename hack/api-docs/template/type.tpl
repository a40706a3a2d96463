{{ define "type" }}
<h3 id="{{ anchorIDForType . }}">{{ .Name.Name }}{{ if eq .Kind "Alias" }} (<code>{{ .Underlying }}</code>){{ end }}</h3>
{{ with (typeReferences .) -}}
<p><em>Appears on:</em>{{ range $i, $t := . }}{{ if $i }},{{ end }} <a href="{{ linkForType $t }}">{{ typeDisplayName $t }}</a>{{ end }}</p>
{{ end -}}
{{ safe (renderComments .CommentLines) }}
{{ with (constantsOfType .) -}}
<table>
<thead><tr><th>Value</th><th>Description</th></tr></thead>
<tbody>
{{ range . -}}
<tr><td><code>{{ typeDisplayName . }}</code></td><td>{{ safe (renderComments .CommentLines) }}</td></tr>
{{ end -}}
</tbody>
</table>
{{ end -}}
{{ if .Members -}}
<table>
<thead><tr><th>Field</th><th>Description</th></tr></thead>
<tbody>
{{ if isExportedType . -}}
<tr><td><code>apiVersion</code><br>string</td><td><code>{{ apiGroup . }}</code></td></tr>
<tr><td><code>kind</code><br>string</td><td><code>{{ .Name.Name }}</code></td></tr>
{{ end -}}
{{ template "members" . -}}
</tbody>
</table>
{{ end -}}
{{ end -}}
