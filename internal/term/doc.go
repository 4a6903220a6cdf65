// SPDX-License-Identifier: Apache-2.0

// Package term writes text for a terminal: sizes, durations and shares as zramctl, lsblk and
// losetup print them, tables as libsmartcols lays them out, and progress. It reads sizes that users
// type, and suggests corrections of their words.
package term
