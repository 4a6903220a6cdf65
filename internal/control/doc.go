// SPDX-License-Identifier: Apache-2.0

// Package control is the conversation between commands and the processes of a device, with both of
// its ends: upgrades, the image, imports and the dictionary.
//
// A device has two Unix sockets. The keeper listens on the first ([Listen]) for requests to replace
// its worker ([Upgrade]) and to hand out the image for reading ([OpenImage]). The worker listens on
// the second ([ListenImports]) for pages that a command has compressed ([OpenImport]).
//
// A socket lies in a directory that only root can enter, or the user who mounted in a user
// namespace: no other user can take its name or fill its queue. Where the process cannot make such
// a directory the name is abstract (unix(7)), and any local user can take it first: then the
// commands fail, and the device warns of it beforehand.
//
// Each end checks the other. A device serves processes of root and of its own user that have the
// device in their mount namespace. A command talks only to processes of root and of its own user.
package control
