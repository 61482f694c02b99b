"""What FastAPI and uvicorn cost alone: a route that takes nothing and does nothing, served as the gateway is."""

import sys

import uvicorn
from fastapi import FastAPI

app = FastAPI()


@app.post("/")
async def nothing() -> dict[str, int]:
    """Answer."""
    return {"id": 1}


@app.get("/health/ready")
async def ready() -> str:
    """It serves."""
    return "ok"


if __name__ == "__main__":
    uvicorn.run(
        app, host="127.0.0.1", port=int(sys.argv[1]), http="httptools", loop="uvloop", access_log=False,
        log_level="warning", server_header=False,
    )  # fmt: skip
