#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# redis-memory.sh PROGRAM [LIMIT_MIB [DATA_MIB [records|words]]]: what swap of a redis costs in
# memory and speed, on a new kernel zram with lz4 and on PROGRAM, by default, with each slot policy
# and with zswap. Redis is filled in a memory group (cgroup v1 or v2) of LIMIT_MIB, then 12 seconds
# of GET and SET at random follow. Needs root, redis-server and no other swap. Swap is on for less
# than a minute each time.
set -euo pipefail
program=$(realpath "$1") limit=${2:-100} data=${3:-200} values=${4:-records}
[ "$(wc -l </proc/swaps)" = 1 ] || { echo "other swap is on" >&2; exit 1; }

work=$(mktemp -d) zram= redis= guard= seed=0
group=/sys/fs/cgroup/memory/zramfs-redis file=memory.limit_in_bytes
[ -d /sys/fs/cgroup/memory ] || group=/sys/fs/cgroup/zramfs-redis file=memory.max

# off ends the load first, so that swapoff has next to nothing to read back.
off() {
	[ -z "$redis" ] || { kill -9 "$redis" 2>/dev/null || true; wait "$redis" 2>/dev/null || true; }
	redis=
	if [ -n "$zram" ]; then
		swapoff "/dev/zram$zram" 2>/dev/null || true
		echo "$zram" >/sys/class/zram-control/hot_remove && zram=
	fi
	[ ! -d "$work/zram" ] || timeout 50 "$program" down -q "$work/zram" || true
	rm -f "$work/socket"
	rmdir "$group" 2>/dev/null || true
	[ -z "$guard" ] || kill "$guard" 2>/dev/null || true
	guard=
}
trap 'off; rm -rf "$work"' EXIT

on() { # contestant
	if [ "$1" = zram ]; then
		zram=$(cat /sys/class/zram-control/hot_add)
		echo lz4 >"/sys/block/zram$zram/comp_algorithm"
		echo 1G >"/sys/block/zram$zram/disksize"
		mkswap "/dev/zram$zram" >/dev/null
		swapon -p 100 -d "/dev/zram$zram"
	else
		# shellcheck disable=SC2086 # these are flags
		timeout 30 "$program" up -q --size 1G $1 "$work/zram"
	fi
}

load() { # text of a Lua script for redis
	redis-cli -s "$work/socket" --no-auth-warning eval "$1" 0 >/dev/null
}

# Each value is about 1 KiB: a list of records as a web service caches them, or words alone.
fill='math.randomseed(FROM) local words = {}
for i = 1, 2000 do local w = "" for j = 1, math.random(3, 10) do w = w .. string.char(math.random(97, 122)) end words[i] = w end
local function word() return words[math.random(2000)] end
for i = FROM, TO do
	local v = {}
	if VALUES == "words" then
		for j = 1, 130 do v[j] = word() end
	else
		for j = 1, 5 do
			v[j] = string.format("{\"id\":%d,\"name\":\"%s %s\",\"email\":\"%s@%s.example\",\"created\":\"2026-%02d-%02dT%02d:00:00Z\"," ..
				"\"tags\":[\"%s\",\"%s\"],\"score\":%.3f,\"active\":true,\"notes\":\"%s %s %s\"}", math.random(1e9), word(), word(), word(), word(),
				math.random(12), math.random(28), math.random(0, 23), word(), word(), math.random(), word(), word(), word())
		end
	end
	redis.call("SET", "key:" .. i, table.concat(v, " "))
end'

taken() { # contestant: MiB that it takes
	if [ "$1" = zram ]; then
		awk '{ printf "%d", ($3 + 262144 * 16) / 1048576 }' "/sys/block/zram$zram/mm_stat"
		return
	fi
	local pid sum=0
	for pid in $(pgrep -f "^@?zramfs|$program|zramfs-slots" || true); do
		[ "$(readlink "/proc/$pid/exe")" = "${program}d" ] || continue
		sum=$((sum + $(awk '/^Pss:/ { print $2 }' "/proc/$pid/smaps_rollup") + $(awk '/^VmPTE:/ { print $2 }' "/proc/$pid/status")))
		sum=$((sum + $(awk '/^VmSwap:/ { print int($2 / 512) }' "/proc/$pid/status"))) # 8 bytes for each slot
	done
	# A page in zswap has an entry of about 80 bytes.
	sum=$((sum + $(awk '/^Zswap:/ { z = $2 } /^Zswapped:/ { print z + int($2 / 4 * 80 / 1024) }' /proc/meminfo)))
	echo $((sum / 1024))
}

printf '%-26s %12s %12s %12s %12s\n' "" "in swap MiB" "memory MiB" "written MiB" "operations/s"
for c in zram "" "--zswap off" "--zswap off --slots free" "--zswap off --slots keep"; do
	on "$c"
	mkdir "$group"
	echo $((limit << 20)) >"$group/$file"
	(echo "$BASHPID" >"$group/cgroup.procs" && exec redis-server --port 0 --unixsocket "$work/socket" --save "" --appendonly no \
		--daemonize no --dir "$work" >/dev/null) &
	redis=$!
	(sleep 50 && kill -9 "$redis" && swapoff -a) 2>/dev/null &
	guard=$!
	for _ in $(seq 50); do [ ! -S "$work/socket" ] || break; sleep 0.1; done
	before=$(awk '/^pswpout/ { print $2 }' /proc/vmstat)
	keys=$((data * 1024))
	for from in $(seq 1 2048 "$keys"); do
		load "$(sed "s/FROM/$from/; s/TO/$((from + 2047))/; s/VALUES/\"$values\"/" <<<"$fill")"
	done
	end=$((SECONDS + 12)) first=$seed
	while [ "$SECONDS" -lt "$end" ]; do
		load "math.randomseed($((seed += 1))) for i = 1, 500 do local k = 'key:' .. math.random($keys) if i % 10 == 0 then redis.call('SET', k, redis.call('GET', k) or '') else redis.call('GET', k) end end"
	done
	printf '%-26s %12d %12d %12d %12d\n' "${c:-zramfs}" $(($(awk '/^VmSwap:/ { print $2 }' "/proc/$redis/status") / 1024)) "$(taken "$c")" \
		$((($(awk '/^pswpout/ { print $2 }' /proc/vmstat) - before) / 256)) $(((seed - first) * 500 / 12))
	off
done
