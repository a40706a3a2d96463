{{ define "members" -}}
{{ range .Members -}}
{{ if not (hiddenMember .) -}}
<tr><td><code>{{ fieldName . }}</code><br>{{ if linkForType .Type }}<a href="{{ linkForType .Type }}">{{ typeDisplayName .Type }}</a>{{ else }}{{ typeDisplayName .Type }}{{ end }}</td>
<td>{{ if fieldEmbedded . }}<p>(Members of this type are inlined.)</p>{{ end }}{{ if isOptionalMember . }}<em>Optional.</em> {{ end }}{{ safe (renderComments .CommentLines) }}</td></tr>
{{ end -}}
{{ end -}}
{{ end -}}
