// SPDX-License-Identifier: Apache-2.0

// Package kubelet finds the kubelet that runs on a machine and tells what it does where swap is on,
// from its command line and its configuration files. It asks no server: the files may be newer than
// the process, which the kubelet's /configz would show, but that needs credentials of the cluster.
// A caller that has the answer of /configz passes it to [ParseConfigz].
package kubelet
