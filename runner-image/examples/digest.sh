#!/bin/sh
# A handler in shell: the payload comes on stdin, the result goes to stdout as JSON, the rest is said on stderr.
# Exit code 0 is done, 65 means that no other try can help, any other is a failed try.
set -eu
payload=$(cat)
echo "job $PACELINE_JOB_ID, attempt $PACELINE_ATTEMPT, fence $PACELINE_FENCE" >&2
if [ "$payload" = null ]; then
  echo "there is nothing to digest" >&2
  exit 65
fi
printf '{"sha256": "%s"}\n' "$(printf %s "$payload" | sha256sum | cut -d ' ' -f 1)"
