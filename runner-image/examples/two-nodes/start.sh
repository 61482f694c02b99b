#!/usr/bin/env bash
# Starts a runner as a process of its own, with the handlers of ../jobs.py: start.sh NAME
# The name is one of the file NODES (./nodes); the log is written beside that file.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
nodes=$(realpath "${NODES:-$here/nodes}")
address=$(awk -v name="$1" '$1 == name { print $2 }' "$nodes")
[ -n "$address" ] || { echo "start: there is no $1 in $nodes" >&2; exit 1; }

cd "$here/.."
# In a session of its own: Ctrl-C in this terminal is not for the runner.
setsid paceline run --app jobs:jobs --name "$1" --listen "$address" </dev/null >>"${nodes%/*}/$1.log" 2>&1 &
