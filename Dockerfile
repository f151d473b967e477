# One image for every service; docker-compose.yml gives each its command.
FROM python:3.13-slim

ENV PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    PATH=/opt/socialq/bin:$PATH \
    SOCIALQ_HOME=/var/lib/socialq

WORKDIR /app

# The lock first: this layer is rebuilt only when a dependency changes.
COPY requirements.lock ./
RUN python -m venv /opt/socialq \
    && pip install --no-cache-dir --require-hashes -r requirements.lock

COPY pyproject.toml README.md celeryconfig.py beat_schedule.py ./
COPY migrations ./migrations
COPY socialq ./socialq
RUN pip install --no-cache-dir --no-deps --editable .

RUN useradd --system --uid 10001 --home-dir /var/lib/socialq --create-home socialq
USER socialq
VOLUME /var/lib/socialq

CMD ["socialq", "--help"]
