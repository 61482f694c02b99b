#!/usr/bin/env bash
# Starts all runners anew, one after the other: roll.sh COMMAND [ARGUMENT...]
# COMMAND starts the successor of a runner that has left; {} in it stands for the runner's name. The runners are those of
# the file NODES (./nodes). One is told to leave only while all others are ready, and then has all the time of its drain.
set -euo pipefail

nodes=${NODES:-$(dirname "$0")/nodes}
patience=${READY_SECONDS:-120}

say() { printf '%s\n' "$*"; }
fail() { say "roll: $*" >&2; exit 1; }
ask() { curl --silent --noproxy '*' --max-time 10 "$@"; }
ready() { [ "$(ask "http://$1/health/ready")" = ok ]; }

# Return when the process has gone: nobody listens at its port any more (which is curl's 7), so the successor can.
leave() {
  local seen jobs last='' code=0
  seen=$(ask --write-out '%{http_code}' --request POST "http://$2/cluster/nodes/$1/drain") || code=$?
  [ "$code" -ne 7 ] || { say "$1 was away already"; return; }
  [ "$seen" = 200 ] || fail "$1 at $2 cannot be drained: $seen"
  while seen=$(ask "http://$2/cluster/nodes") || [ $? -ne 7 ]; do
    jobs=$(sed -n 's/.*"instances_claimed": \([0-9]*\).*/\1/p' <<<"$seen")
    [ -z "$jobs" ] || [ "$jobs" = "$last" ] || say "$1 drains, jobs left: $jobs"
    last=$jobs
    sleep 0.2
  done
}

await_ready() {
  local end=$((SECONDS + patience))
  until ready "$2"; do
    [ "$SECONDS" -lt "$end" ] || fail "$1 is not ready after $patience s. The others are as they were: mend it, roll again"
    sleep 0.2
  done
  say "$1 is ready"
}

names=()
declare -A address
while read -r name where; do
  names+=("$name")
  address[$name]=$where
done < <(grep -v '^ *\(#\|$\)' "$nodes")
[ "${#names[@]}" -ge 2 ] || fail "$nodes names ${#names[@]} runner: while it restarts, nobody works"
[ $# -gt 0 ] || fail "say what starts a runner, as in: roll.sh ./start.sh {}"

for name in "${names[@]}"; do
  for other in "${names[@]}"; do
    [ "$other" = "$name" ] || ready "${address[$other]}" || fail "$other is not ready, so $name stays: start it first"
  done
  leave "$name" "${address[$name]}"
  "${@//\{\}/$name}"
  await_ready "$name" "${address[$name]}"
done
