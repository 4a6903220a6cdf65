// SPDX-License-Identifier: Apache-2.0

/*
Package ballast makes the kernel free the swap slot of a page when it has read the
page back.

On kernel zram it always does. On any other swap area it keeps the slot, and with
it the copy that our device holds, until half of all swap is in use
(vm_swap_full() in the kernel's include/linux/swap.h): should the page be evicted
unchanged, it need not be written again. So a device stores pages that are in
memory as well, and takes more memory than zram for the same work.

A process of its own holds a ballast: pages of zeros, paged out, which take swap
slots and nothing else. Since Linux 6.12 the kernel stores no page of zeros; before
that they are same-filled pages, which take 8 bytes of our index. The ballast is as
large as half of all swap less what is in use, so that vm_swap_full() is true. It
shrinks as programs use more swap and is empty once they use half. So all of the
size that the user asked for can be used, and SwapTotal is that size; "used" in
free(1) and swapon(8) is half of it or more as long as there is a ballast.

The process keeps statistics of the kernel fresh as well: see memcgflush.go.

The process is neither locked in memory nor protected: the kernel may page it out
or kill it first, and then it keeps slots again, which costs memory and loses
nothing. It ends with the keeper of its device.
*/
package ballast
