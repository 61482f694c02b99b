{{/* Labels of an object; the part is operator, gateway or migrate. Use: include "paceline.labels" (list $ "operator") */}}
{{- define "paceline.labels" -}}
{{- $root := index . 0 -}}
{{ include "paceline.selector" (index . 1) }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name ($root.Chart.Version | replace "+" "_") }}
{{- end }}

{{/* Labels by which pods are found: the same as in manifests/, so that both installs are one to whoever selects. */}}
{{- define "paceline.selector" -}}
app.kubernetes.io/name: paceline
app.kubernetes.io/component: {{ . }}
{{- end }}

{{- define "paceline.image" -}}
image: {{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) }}
{{- with .Values.image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
{{- end }}

{{/* What the restricted pod security standard asks of a pod, and of a container. No value changes it. */}}
{{- define "paceline.podSecurity" -}}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{- define "paceline.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{/* Where pods of a part may run. Use: include "paceline.placement" (list "operator" .Values.operator) */}}
{{- define "paceline.placement" -}}
{{- $part := index . 0 -}}
{{- $values := index . 1 -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    {{- if eq $values.spread "Hard" }}
    whenUnsatisfiable: DoNotSchedule
    nodeTaintsPolicy: Honor
    matchLabelKeys: [pod-template-hash]
    {{- else }}
    whenUnsatisfiable: ScheduleAnyway
    {{- end }}
    labelSelector:
      matchLabels:
        {{- include "paceline.selector" $part | nindent 8 }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "paceline.pullSecrets" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "paceline.caMount" -}}
{{- if .Values.databaseCa }}
volumeMounts:
  - {name: database-ca, mountPath: /etc/paceline/ca, readOnly: true}
{{- end }}
{{- end }}

{{- define "paceline.caVolume" -}}
{{- with .Values.databaseCa }}
volumes:
  - name: database-ca
    configMap: {name: {{ . }}}
{{- end }}
{{- end }}

{{- define "paceline.budget" -}}
{{- $root := index . 0 -}}
{{- $part := index . 1 -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: paceline-{{ $part }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "paceline.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      {{- include "paceline.selector" $part | nindent 6 }}
{{- end }}

{{- define "paceline.hook" -}}
helm.sh/hook: pre-install,pre-upgrade
helm.sh/hook-weight: {{ . | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}
