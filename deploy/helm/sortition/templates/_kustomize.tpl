{{- /*
Reads the folders of kubernetes/ as `kubectl kustomize` does, so that the chart needs no copy of a manifest. It knows
what those folders use: resources, ConfigMaps of files, patches that merge, and patches that add to a list.
The argument `resources` has all resources by "Kind/name". The templates change it in place and print nothing.
*/}}

{{- /* Adds what the kustomization of .folder (below kubernetes/) names. .root is the context of the chart. */}}
{{- define "sortition.kustomize" }}
{{- $folder := print "kubernetes/" .folder "/" }}
{{- $text := $.root.Files.Get (print $folder "kustomization.yaml") }}
{{- if not $text }}
  {{- fail (print $folder ": not in this copy of the chart, whose link kubernetes is broken") }}
{{- end }}
{{- $kustomization := fromYaml $text }}
{{- range $kustomization.resources }}
  {{- if hasSuffix ".yaml" . }}
    {{- include "sortition.load" (dict "resources" $.resources "text" ($.root.Files.Get (print $folder .))) }}
  {{- else }}
    {{- $other := clean (print $.folder "/" .) }}
    {{- include "sortition.kustomize" (dict "resources" $.resources "root" $.root "folder" $other) }}
  {{- end }}
{{- end }}
{{- range $map := $kustomization.configMapGenerator }}
  {{- $id := print "ConfigMap/" $map.name }}
  {{- if not (hasKey $.resources $id) }}
    {{- $metadata := dict "name" $map.name }}
    {{- $_ := set $.resources $id (dict "apiVersion" "v1" "kind" "ConfigMap" "metadata" $metadata "data" dict) }}
  {{- end }}
  {{- range $map.files }}
    {{- $_ := set (get $.resources $id).data (base .) ($.root.Files.Get (print $folder .)) }}
  {{- end }}
{{- end }}
{{- range $patch := $kustomization.patches }}
  {{- $text := $patch.patch }}
  {{- if $patch.path }}{{ $text = $.root.Files.Get (print $folder $patch.path) }}{{ end }}
  {{- if not $patch.target }}
    {{- include "sortition.load" (dict "resources" $.resources "text" $text) }}
  {{- else }}
    {{- range $id, $resource := $.resources }}
      {{- if regexMatch (printf "^%s/(%s)$" $patch.target.kind $patch.target.name) $id }}
        {{- range fromYamlArray $text }}{{ include "sortition.append" (list $resource .) }}{{ end }}
      {{- end }}
    {{- end }}
  {{- end }}
{{- end }}
{{- end }}

{{- /* Loads the documents of .text: adds each, or merges it into the resource of the same kind and name. With
.existing a document without such a resource is left out. */}}
{{- define "sortition.load" }}
{{- range splitList "\n---\n" .text }}
  {{- $document := fromYaml . }}
  {{- with $document.Error }}{{ fail . }}{{ end }}
  {{- $id := printf "%s/%s" $document.kind $document.metadata.name }}
  {{- if hasKey $.resources $id }}
    {{- include "sortition.patch" (list (get $.resources $id) $document) }}
  {{- else if not $.existing }}
    {{- $_ := set $.resources $id $document }}
  {{- end }}
{{- end }}
{{- end }}

{{- /* Merges the second argument into the first: null removes a field, `name+` adds to the list `name`, objects and
lists of named objects merge, and any other value replaces the field. */}}
{{- define "sortition.patch" }}
{{- $target := index . 0 }}
{{- range $key, $value := index . 1 }}
  {{- $old := get $target $key }}
  {{- if kindIs "invalid" $value }}
    {{- $_ := unset $target $key }}
  {{- else if hasSuffix "+" $key }}
    {{- $key = trimSuffix "+" $key }}
    {{- $_ := set $target $key (concat (get $target $key | default list) $value) }}
  {{- else if and (kindIs "map" $old) (kindIs "map" $value) }}
    {{- include "sortition.patch" (list $old $value) }}
  {{- else if and (kindIs "slice" $old) (include "sortition.name" $value) }}
    {{- range $new := $value }}
      {{- $found := false }}
      {{- range $item := $old }}
        {{- if eq (include "sortition.name" (list $item)) (include "sortition.name" (list $new)) }}
          {{- $found = true }}
          {{- include "sortition.patch" (list $item $new) }}
        {{- end }}
      {{- end }}
      {{- if not $found }}{{ $_ := set $target $key (append (get $target $key) $new) }}{{ end }}
    {{- end }}
  {{- else }}
    {{- $_ := set $target $key $value }}
  {{- end }}
{{- end }}
{{- end }}

{{- /* Name of the first item of a list of named objects; empty for any other value. */}}
{{- define "sortition.name" }}
{{- if kindIs "slice" . }}{{ with first . }}{{ if kindIs "map" . }}
  {{- .name | default (dig "metadata" "name" "" .) }}
{{- end }}{{ end }}{{ end }}
{{- end }}

{{- /* Carries out the operation (op, path, value) of the second argument, which must add to a list of the first. */}}
{{- define "sortition.append" }}
{{- $at := index . 0 }}
{{- with index . 1 }}
  {{- if or (ne .op "add") (not (hasSuffix "/-" .path)) }}
    {{- fail (print "the chart does not support this operation: " .op " " .path) }}
  {{- end }}
  {{- $path := splitList "/" .path | rest | initial }}
  {{- range initial $path }}
    {{- if kindIs "slice" $at }}{{ $at = index $at (int .) }}{{ else }}{{ $at = get $at . }}{{ end }}
  {{- end }}
  {{- $_ := set $at (last $path) (append (get $at (last $path)) .value) }}
{{- end }}
{{- end }}
