"""The cluster beyond its objects: logs and ports of pods, through the API server. No kubectl is needed."""
