#!/usr/bin/env bash
# `just bench postgres`: what PostgreSQL could do as a third engine, next to Redis, on this machine. See docs/decisions/0023.
#
# Both write the rows of the typical batch of a webhook (an event with retention, a counter, a job in, a job done), have them on disk
# before they answer, and check nothing. A group is what one host commits together: one function call in PostgreSQL, which is one
# transaction; in Redis as many scripts as the group has batches, which it answers after one fsync. Takes turns, prints the median.
set -euo pipefail
seconds=${1:-3} rounds=${2:-5}
bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1)
folder=$(mktemp -d); chmod 755 "$folder"
as=(); [ "$(id -u)" != 0 ] || as=(runuser -u postgres --)
port=$((20000 + RANDOM % 8000))
trap '"${as[@]}" "$bin/pg_ctl" -D "$folder/data" -m immediate stop >/dev/null 2>&1 || true; [ -z "${redis:-}" ] || kill "$redis" 2>/dev/null || true; rm -rf "$folder"' EXIT
[ "$(id -u)" != 0 ] || chown postgres "$folder"

"${as[@]}" "$bin/initdb" -D "$folder/data" -A trust -U bench >/dev/null
"${as[@]}" "$bin/pg_ctl" -D "$folder/data" -w -l "$folder/log" -o "-p $port -k $folder -c listen_addresses= -c shared_buffers=256MB -c max_wal_size=4GB -c checkpoint_timeout=30min -c autovacuum=on -c synchronous_commit=on -c fsync=on" start >/dev/null
export PGHOST=$folder PGPORT=$port PGUSER=bench PGDATABASE=postgres
psql -q <<'SQL'
CREATE TABLE entries (stream int, id bigint, value bytea, PRIMARY KEY (stream, id));
CREATE TABLE counters (tenant int, name text, value bigint, PRIMARY KEY (tenant, name)) WITH (fillfactor = 50);
CREATE TABLE jobs (job bigint PRIMARY KEY, tenant int, payload bytea);
CREATE SEQUENCE batches0;
CREATE SEQUENCE batches1;
-- The best case: each host has its own tenants, so that none waits for rows of another, and a group is a few statements over all of its
-- batches. A counter is written once for each group.
CREATE FUNCTION commit_group(host int, batches int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  first bigint := (nextval(('batches' || host)::regclass) - 1) * batches + host * 1000000000000;
  last bigint := first + batches - 1;
  value bytea := convert_to(repeat('x', 512), 'UTF8'); payload bytea := convert_to(repeat('p', 64), 'UTF8');
BEGIN
  INSERT INTO entries SELECT host * 16 + number % 16, number, value FROM generate_series(first, last) AS number;
  DELETE FROM entries USING generate_series(first - 1600, last - 1600) AS number
    WHERE stream = host * 16 + number % 16 AND id = number;
  INSERT INTO counters SELECT host * 16 + number % 16, 'invocations', count(*) FROM generate_series(first, last) AS number GROUP BY 1
    ON CONFLICT (tenant, name) DO UPDATE SET value = counters.value + excluded.value;
  INSERT INTO jobs SELECT number, host * 16 + number % 16, payload FROM generate_series(first, last) AS number;
  DELETE FROM jobs WHERE job BETWEEN first - 1000 AND last - 1000;
  RETURN last;
END $$;
SQL

redis-server --bind 127.0.0.1 --port $((port + 1)) --save '' --appendonly yes --appendfsync always --auto-aof-rewrite-percentage 0 --dir "$folder" >/dev/null &
redis=$!
until redis-cli -p $((port + 1)) ping >/dev/null 2>&1; do :; done
script="redis.call('XADD', KEYS[1]..':events', 'MAXLEN', '=', 100, '*', 'v', ARGV[1]) redis.call('INCR', KEYS[1]..':invocations') local job = redis.call('INCR', KEYS[1]..':jobs') redis.call('HSET', KEYS[1]..':job:'..job, 'tenant', 'u_1', 'payload', ARGV[2]) redis.call('DEL', KEYS[1]..':job:'..(job - 1000)) return job"
value=$(printf 'x%.0s' {1..512}) payload=$(printf 'p%.0s' {1..64})

postgres() { # group, hosts
  psql -q -c 'TRUNCATE entries, counters, jobs; ALTER SEQUENCE batches0 RESTART; ALTER SEQUENCE batches1 RESTART'
  printf 'SELECT commit_group(:client_id, %d);\n' "$1" > "$folder/group.sql"
  local tps; tps=$(pgbench -n -M prepared -f "$folder/group.sql" -c "$2" -j "$2" -T "$seconds" 2>/dev/null | sed -n 's/^tps = \([0-9.]*\).*/\1/p' | tail -1)
  awk -v tps="$tps" -v group="$1" 'BEGIN { printf "%.0f\n", tps * group }'
}
redis() { # group
  redis-benchmark --csv -p $((port + 1)) -c "$1" -n $((seconds * (1500 + 60 * $1))) EVAL "$script" 1 "bare$1" "$value" "$payload" | tail -1 | awk -F'","' '{ printf "%d\n", $(NF - 6) }'
}
median() { sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }

printf '%-22s%16s%16s%16s%10s\n' 'batches in a group' 'Postgres, 1 host' 'Postgres, 2' 'Redis' 'ratio'
for group in 1 16 128; do
  : > "$folder/p1"; : > "$folder/p2"; : > "$folder/r"
  for _ in $(seq "$rounds"); do
    postgres "$group" 1 >> "$folder/p1"; postgres "$group" 2 >> "$folder/p2"; redis "$group" >> "$folder/r"
  done
  p1=$(median < "$folder/p1") p2=$(median < "$folder/p2") r=$(median < "$folder/r")
  best=$(( p1 > p2 ? p1 : p2 ))
  awk -v g="$group" -v a="$p1" -v b="$p2" -v r="$r" -v best="$best" 'BEGIN { printf "%-22d%14d/s%14d/s%14d/s%10.2f\n", g, a, b, r, best / r }'
done
