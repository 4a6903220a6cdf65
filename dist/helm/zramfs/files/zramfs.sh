#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Plugin of node-problem-detector: 0 every device is healthy, 1 one is degraded, 2 that is not
# known. node-problem-detector makes the first words of the output the message of the condition.
#
# As a service of the node it runs zramfs from PATH. In a pod it enters the node by process 1,
# which needs privileged: true and hostPID: true. ZRAMFS names the program on the node.
zramfs=${ZRAMFS:-zramfs}
unknown() {
	echo "$1"
	exit 2
}
if [ -n "${KUBERNETES_SERVICE_HOST:-}" ]; then
	set -- nsenter --target 1 --mount --pid -- "$zramfs" status --quiet "$@"
else
	set -- "$zramfs" status --quiet "$@"
fi
command -v "$1" >/dev/null || unknown "$1 is not installed or not in PATH"
said=$("$@" 2>&1)
code=$?
case $code in
0) echo "every device of zramfs is healthy" ;;
1) echo "$said" | head -n 1 ;;
*) unknown "$(echo "$said" | head -n 1)" ;;
esac
exit $code
