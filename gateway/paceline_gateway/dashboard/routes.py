"""All routes of the dashboard."""

from typing import Final

from paceline_gateway.dashboard import assets, jobs, pools, runners, session, stream

ROUTERS: Final = (stream.router, pools.router, runners.router, jobs.router, session.router, assets.router)
