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

	cmd/zramfs/command   subcommands: flags, one call, print
	  cmd/zramfs/daemon    keeper, worker, supervision, upgrade
	    cmd/zramfs/control   both ends of the sockets between command and device
	    cmd/zramfs/awake     when processors are kept from halting, and what that saves
	    cmd/zramfs/background  what a device does by itself: packs cold pages, proves checksums
	    cmd/zramfs/protect   what a serving process asks of the kernel: locks, classes, populate
	    telemetry            counters, trace and events in memory that all processes share
	      telemetry/latency    histograms of durations
	    fusefs               requests of the kernel to pages, over /dev/fuse
	      fusefs/sysfstext     what scripts write to zram's attributes
	      store                pages to objects in the memory image
	        store/internal/image  the bytes of the image
	        codec                 pages to compressed bytes and back
	          codec/{page,lz4,zstd}  the formats, each with assembly and a generic twin
	          codec/pagescan         same-filled pages, predictions
	    loopsetup            loop devices and swap
	  cmd/zramfs/setup     makes devices, turns swap on them, and undoes that
	    cmd/zramfs/devices   finds devices, asks them, says what is wrong; up's records
	      cmd/zramfs/aside     calls that may never return, each in another process
	    cmd/zramfs/notify    tells a service manager how far a service is
	  cmd/zramfs/top       the live view on a terminal
	  cmd/zramfs/watch     devices over time: rates, trends, the last points
	    cmd/zramfs/figures   what is measured of a device, by the names that metrics have
	    cmd/zramfs/alerts    alert rules and a Grafana dashboard for those names
	    cmd/zramfs/monitor   hands orders to zramfs-monitor
	  cmd/zramfs/namespace runs a command that takes a device for the kernel's zram
	  cmd/zramfs/settings  changes what may be changed of a device in use
	  cmd/zramfs/config    /etc/zramfs.conf: devices, and the problems in it
	  cmd/zramfs/generator what systemd needs to start the devices of the configuration at boot
	  cmd/zramfs/zramctl   the command line of zramctl, and the devices that it names
	  cmd/zramfs/doctor    whether this machine can run a device safely
	    cmd/zramfs/kubelet   the kubelet that runs here, and what it does where swap is on
	    cmd/zramfs/podswap   how much swap the containers of a node may use
	  cmd/zramfs/slots     the process that makes the kernel free swap slots
	    cmd/zramfs/groupstat keeps the kernel's statistics of memory groups fresh
	  cmd/zramfs/tune      parameters of the kernel: set, recorded, restored
	  cmd/zramfs/imaging   verify, export, import and snapshots of a live device
	    cmd/zramfs/snapshot  the file of a snapshot
	    store/view           the image of a live device, read by another process
	    codec/bulk           many pages at once, divided between cores and engines
	      gpu                  such an engine: kernels written in Go, on a device or simulated
	  cmd/zramfs/journal   the last operations and the events of a device, in words and JSON
	  cmd/zramfs/prefetch  what of a process is swapped out, and bringing it back
	  cmd/zramfs/reclaim   idle memory of control groups into swap, while nothing waits for it
	  cmd/zramfs/bench     rates of the codecs and engines on this machine
	  cmd/zramfs/estimate  what compressed swap would save, and the advised device
	    cmd/zramfs/sample    pages to measure: of processes, of a file, generated
	      procpages            the memory of other processes
	  cmd/zramfs/dictionary  trains a dictionary for zstd, and measures its gain
	  cmd/zramfs/bundle    what a bug report needs, as an archive
	  cmd/zramfs/host      facts of the machine: memory, groups, mounts, parameters
	  cmd/zramfs/term      tables, sizes, words and progress on a terminal

	cmd/zramfs-monitor   metrics, serve, report and top, apart from what devices lock in memory
	  cmd/zramfs/web         dashboard, metrics and health over HTTP
	    cmd/zramfs/exposition  the metrics in Prometheus' format
	    cmd/zramfs/chronicle   24 hours of what devices did, in a file
	      cmd/zramfs/regular     opens files that a command line names, no pipes or devices

	cmd/zramfs-node      what runs in a pod on each node of a Kubernetes cluster
	  cmd/zramfs/nodepod     installs zramfs on the node, turns swap on there, decides at its end
	    cmd/zramfs/onhost      reaches the node from a pod: its namespaces, files and services
	    dist/systemd           the unit of systemd
	  cmd/zramfs/limitedswap lets pods swap where the kubelet stays at NoSwap
	    cmd/zramfs/kubeapi   asks the API server of a cluster about a node

Imports go down only; house_test.go holds the order as text and tests it.
codec/internal/impl knows which assembly this machine takes, and codec/_asm holds
the programs that write the assembly for amd64. docs/ says the rest in words.

# One page in

A write of one page meets these functions, each called by one above it; a test
follows them.

	fusefs/thread_linux.go  thread.serve           receives a WRITE request into the thread's slot
	fusefs/thread_linux.go  thread.carryOut        tells page requests from others
	fusefs/thread_linux.go  thread.carryOutPage    notes in the slot what was done, and answers
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
	fusefs/thread_linux.go  thread.carryOut        tells page requests from others
	fusefs/thread_linux.go  thread.carryOutPage    answers with the page
	fusefs/data.go          fileSystem.servePage   takes a store.Worker and decodes the request
	fusefs/data.go          fileSystem.read        divides its bytes into pages
	store/read.go           Worker.Read            notes the epoch, loads the entry
	store/read.go           Worker.load            tells what the entry refers to
	store/object.go         Store.object           proves that the object is the page's, and intact
	store/read.go           Worker.unpack          has it decompressed
	codec/decompressor.go   Decompressor.Decompress  by the codec that the entry names
*/
package zramfs
