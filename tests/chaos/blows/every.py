"""How each fault is done."""

from chaos.blows import api, database, groups, inputs, nodes, processes
from chaos.blows.scene import Blow
from chaos.faults import Fault

BLOWS: dict[Fault, Blow] = {
    Fault.RUNNER_KILL: processes.kill_runner,
    Fault.RUNNER_STOP: processes.stop_runner,
    Fault.LEADER_KILL: processes.kill_leader,
    Fault.LEADER_STOP: processes.stop_leader,
    Fault.STANDBY_KILL: processes.kill_standby,
    Fault.STANDBY_STOP: processes.stop_standby,
    Fault.GATEWAY_KILL: processes.kill_gateway,
    Fault.GATEWAY_STOP: processes.stop_gateway,
    Fault.POSTGRES_RESTART: database.restart,
    Fault.POSTGRES_FAILOVER: database.fail_over,
    Fault.DISK_FULL: database.fill,
    Fault.DISK_SLOW: database.slow,
    Fault.CONNECTION_LIMIT: database.limit,
    Fault.API_RESTART: api.restart,
    Fault.API_GONE: api.forget,
    Fault.API_BUSY: api.be_busy,
    Fault.API_CONFLICTS: api.write_too,
    Fault.OOM_KILL: nodes.kill_for_memory,
    Fault.NODE_LOSS: nodes.lose_node,
    Fault.EVICTION: nodes.evict,
    Fault.IMAGE_PULL: groups.miss_image,
    Fault.CRASH_LOOP: groups.crash,
    Fault.CLOCK_JUMP: processes.jump,
    Fault.DUPLICATE_EVENTS: api.repeat,
    Fault.HALF_OPEN_DATABASE: database.silence,
    Fault.HALF_OPEN_API: api.silence,
    Fault.HALF_OPEN_GATEWAY: api.forget_gateways,
    Fault.PAYLOAD_NOT_JSON: inputs.not_json,
    Fault.PAYLOAD_TOO_LARGE: inputs.too_large,
    Fault.PAYLOAD_KILLS: processes.kill_by_payload,
    Fault.BAD_DSN: groups.wrong_url,
    Fault.BAD_CRON: inputs.wrong_cron,
    Fault.BAD_TAINT: groups.wrong_taint,
    Fault.BAD_TEMPLATE: groups.wrong_template,
    Fault.MIN_OVER_MAX: groups.min_over_max,
}
AFTERWARDS: dict[Fault, Blow] = {Fault.POSTGRES_FAILOVER: database.heal}
"""What the people who run it do when all works again."""
