// SPDX-License-Identifier: Apache-2.0

/*
Package zramfs holds no code. Begin reading here; the tests of the tree's own
rules are next to it.

# Processes

	applications     kernel                        one device
	------------     ------                        ----------
	page fault   ->  swap -> loop -> FUSE  <---->  worker   serves requests: fusefs, store, codec
	page reclaim                       ^             |
	                                   |             |  shared: image, request slots, counters
	                                   |             |
	                                   +---------  keeper   holds the connection and that memory,
	                                                 |      and replaces a worker that ends
	                                                 |  sockets and files in DIR/control
	                                               zramfs verify, export, import, status, down ...

A command that reads many pages maps nothing: it reads the image, which the keeper
passes to it, with store/view.

# Packages

The page path, from the kernel down:

	fusefs               requests of the kernel to pages, over /dev/fuse
	  fusefs/sysfstext     what scripts write to zram's attributes
	  store                pages to objects in the memory image
	    store/internal/image  the bytes of the image
	    store/view            the image of a live device, read by another process
	    codec                 pages to compressed bytes and back
	      codec/{page,lz4,zstd}  the formats, each with assembly and a generic twin
	      codec/pagescan         same-filled pages, predictions
	      codec/bulk             many pages at once, divided between cores and engines
	        gpu                    such an engine: kernels written in Go, on a device or simulated

The server, whose code a device locks in memory:

	internal/server      the program zramfsd: keeper, worker or ballast, by its first argument
	  internal/daemon      keeper, worker, supervision, upgrade
	  internal/zramfsd     its command line, both ways, and how zramfs finds and starts it
	  internal/uprecord    the records of up: loop devices, kernel parameters to restore
	    internal/control     both ends of the sockets between command and device
	    internal/protect     what a serving process asks of the kernel: locks, classes, populate
	    internal/idlework    packs cold pages, proves checksums
	    internal/pmqos       when processors are kept from halting, and what that saves
	    internal/telemetry   counters, trace, events and latencies, shared by all processes
	  internal/ballast     the process that makes the kernel free swap slots
	  internal/status      the JSON that a device and the command line exchange
	  internal/host        facts of the machine: memory, cgroups, mounts, parameters

The command line:

	internal/command     subcommands: flags, one call, print
	  internal/config      /etc/zramfs.conf: devices, and the problems in it
	    internal/generator   what systemd needs to start those devices at boot
	  internal/swapdev     makes devices with swap on them, finds them, ends them
	    internal/helper      calls that may never return, each in another process
	    internal/imageio     verify, export, import and snapshots of a live device
	      internal/snapshot    the file of a snapshot
	    internal/notify      tells a service manager how far a service is
	    internal/prefetch    reads what is in swap ahead of swapoff
	    internal/tune        parameters of the kernel: set and restored
	    internal/zswap       the kernel's zswap as the hot tier of a device
	    loopsetup            loop devices and swap
	  internal/settings    changes what may be changed of a device in use
	  internal/zramctl     the command line of zramctl, and the devices that it names
	  internal/zramview    runs a command that takes a device for the kernel's zram
	  internal/doctor      whether this machine can run a device safely
	    internal/kubelet     the kubelet that runs here, and what it does where swap is on
	    internal/podswap     how much swap the containers of a node may use
	  internal/estimate    what compressed swap would save, and the advised device
	  internal/bench       rates of the codecs and engines on this machine
	    internal/sample      pages to measure: of processes, of a file, generated
	      internal/procpages   the memory of other processes
	  internal/monitor     devices over time, and the names that metrics have
	    internal/top         the live view on a terminal
	    internal/web         dashboard, metrics and health over HTTP
	      internal/chronicle   15 minutes of what devices did
	      internal/journal     the last operations and the events of a device
	  internal/term        tables, sizes, words and progress on a terminal
	  internal/safeopen    opens files that a command line names, no pipes or devices
	  internal/nodepod     from a pod of Kubernetes: installs zramfs on the node, turns swap on
	    internal/onhost      reaches the node from a pod: its namespaces, files and services
	    dist/systemd         the unit of systemd
	  internal/limitedswap lets pods swap where the kubelet stays at NoSwap
	    internal/kubeapi     asks the API server of a cluster about a node

Imports go down only; house_test.go holds the order as text and tests it.
codec/internal/impl knows which assembly this machine takes, and codec/_asm holds
the programs that write the assembly for amd64. docs/ says the rest in words.

# One page in

A write of one page meets these functions, each called by one above it; a test
follows them.

	fusefs/thread_linux.go  thread.serve           receives a WRITE request into the thread's slot
	fusefs/thread_linux.go  thread.dispatch        tells page requests from others
	fusefs/thread_linux.go  thread.dispatchPage    notes in the slot what was done, and answers
	fusefs/data.go          fileSystem.servePage   takes a store.Worker and decodes the request
	fusefs/data.go          fileSystem.write       divides its bytes into pages
	store/write.go          Worker.Write           checks the range and counts
	store/write.go          Worker.replace         has room in the index, and the page's lock
	store/write.go          Worker.encode          finds same-filled pages, compresses others
	codec/adaptive.go       adaptive.Compress      chooses the codec
	store/object.go         Worker.place           writes header and payload to fresh space
	store/write.go          Worker.publish         makes the entry current, retires the old one

# One page out

	fusefs/thread_linux.go  thread.serve           receives a READ request into the thread's slot
	fusefs/thread_linux.go  thread.dispatch        tells page requests from others
	fusefs/thread_linux.go  thread.dispatchPage    answers with the page
	fusefs/data.go          fileSystem.servePage   takes a store.Worker and decodes the request
	fusefs/data.go          fileSystem.read        divides its bytes into pages
	store/read.go           Worker.Read            notes the epoch, loads the entry
	store/read.go           Worker.load            tells what the entry refers to
	store/object.go         Store.object           proves that the object is the page's, and intact
	store/read.go           Worker.unpack          has it decompressed
	codec/decompressor.go   Decompressor.Decompress  by the codec that the entry names
*/
package zramfs
