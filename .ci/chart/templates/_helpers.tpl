{{- define "hookswitch.labels" -}}
app.kubernetes.io/name: hookswitch
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "hookswitch.isCluster" -}}
{{- if or .Values.database.url .Values.database.existingSecret }}yes{{ end }}
{{- end }}

{{/* What the containers of one node and of several have in common. */}}
{{- define "hookswitch.pod" -}}
metadata:
  labels:
    {{- include "hookswitch.labels" . | nindent 4 }}
  annotations:
    # Other settings are read at a start only.
    checksum/settings: {{ include (print .Template.BasePath "/secret.yaml") . | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 30
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: { type: RuntimeDefault }
  containers:
    - name: hookswitch
      image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: { drop: [ALL] }
      envFrom:
        - secretRef: { name: {{ .Values.existingSecret | default (printf "%s-settings" .Release.Name) }} }
        {{- with .Values.database.existingSecret }}
        - secretRef: { name: {{ . }} }
        {{- end }}
      {{- if or .Values.settings .Values.ingress.enabled }}
      env:
        {{- if and .Values.ingress.enabled (not (hasKey .Values.settings "HOOKSWITCH_PUBLIC_URL")) }}
        - name: HOOKSWITCH_PUBLIC_URL
          value: {{ printf "%s://%s" (ternary "https" "http" (ne .Values.ingress.tlsSecret "")) .Values.ingress.host | quote }}
        {{- end }}
        {{- range $name, $value := .Values.settings }}
        - name: {{ $name }}
          value: {{ $value | toString | quote }}
        {{- end }}
      {{- end }}
      ports:
        - { name: http, containerPort: 8080 }
      readinessProbe:
        httpGet: { path: /health, port: http }
        periodSeconds: 5
      livenessProbe:
        # Whether the process answers: its store may be away without its fault.
        tcpSocket: { port: http }
        periodSeconds: 20
        failureThreshold: 6
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - { name: tmp, mountPath: /tmp }
        - { name: data, mountPath: /data }
  volumes:
    - name: tmp
      emptyDir: {}
    {{- if include "hookswitch.isCluster" . }}
    - name: data
      emptyDir: {}
    {{- else if .Values.persistence.existingClaim }}
    - name: data
      persistentVolumeClaim: { claimName: {{ .Values.persistence.existingClaim }} }
    {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
