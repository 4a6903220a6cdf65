// SPDX-License-Identifier: Apache-2.0

package daemon

// up begins the stories below: the first worker serves.
const up = `
	begin           | start p1
	p1 prepared     | serve p1
	p1 serving      |
	p1 ready        | first p1
`

// supervisionStories have an event a line, and all actions of the supervision in answer. Processes
// are numbered in the order in which they are started.
var supervisionStories = map[string]string{
	"the first worker cannot be started": `
		begin       | start p1
		p1 unstarted | end: no fork
	`,
	"the first worker ends before it is prepared": `
		begin       | start p1
		p1 ends     | end: the serving process ended before it was ready: ended by itself
	`,
	"the first worker ends before it is ready": `
		begin       | start p1
		p1 prepared | serve p1
		p1 serving  |
		p1 ends     | end: ended by itself
	`,
	"the first worker says why it ends": `
		begin       | start p1
		p1 fails    |
		p1 ends     | end: no room
	`,
	"a worker fails after the device was unmounted": up + `
		p1 leaves   | hear
		p1 fails    |
		p1 ends     | log worker: no room; end
	`,
	"the first worker takes too long": `
		begin       | start p1
		26s         | kill p1; end: the worker was not ready in time
	`,
	"an upgrade before the first worker serves": `
		begin       | start p1
		upgrade     | answer: the device is not ready yet
	`,
	"the device is unmounted": up + `
		p1 leaves   | hear
		p1 ends     | end
		upgrade     | answer: the device has ended
	`,
	"an upgrade to a program with another channel": up + `
		upgrade     | start p2 of new
		p2 alien    | kill p2
		p2 dies     | answer: the program has another version of the channel to its keeper: 2, this keeper has 1
	`,
	"an old worker fails as it stops": up + `
		upgrade     | start p2 of new
		p2 prepared | stop p1
		p1 fails    |
		p1 ends     | log the old worker: no room; serve p2
	`,
	"a worker dies": up + `
		p1 dies     | start p2
		p2 prepared | serve p2
		p2 serving  | log serves
		p2 ready    |
	`,
	"workers die in a row": up + `
		p1 dies     | start p2
		p2 ends     | start p3
		p3 prepared | serve p3
		p3 dies     |
		49ms        |
		1ms         | start p4
		p4 unstarted |
		100ms       | start p5
		p5 dies     | log storm
		200ms       | start p6
		p6 dies     |
		400ms       | start p7
		p7 dies     |
		800ms       | start p8
		p8 dies     |
		1600ms      | start p9
		p9 dies     |
		2999ms      |
		1ms         | start p10
		p10 dies    |
		3s          | start p11
		p11 prepared | serve p11
		p11 serving | log serves
		p11 ready   |
		61s         |
		p11 dies    | start p12
	`,
	"the log says once a minute that workers die": up + `
		p1 dies     | start p2
		p2 dies     | start p3
		p3 dies     |
		50ms        | start p4
		p4 dies     |
		100ms       | start p5
		p5 dies     | log storm
		200ms       | start p6
		p6 dies     |
		50s         | start p7
		p7 dies     |
		800ms       | start p8
		p8 dies     |
		1600ms      | start p9
		p9 dies     |
		3s          | start p10
		p10 dies    |
		3s          | start p11
		p11 dies    |
		1400ms      | log storm; start p12
	`,
	"the next worker takes too long to prepare itself": up + `
		p1 dies     | start p2
		25s         | kill p2; start p3
		p3 prepared | serve p3
	`,
	"the next worker takes too long to serve": up + `
		p1 dies     | start p2
		p2 prepared | serve p2
		25s         | kill p2
		p2 dies     | start p3
	`,
	"the next worker may take longer to serve where much is stored": up + `
		p1 dies     | start p2
		large       |
		p2 prepared | serve p2
		54s         |
		1s          | kill p2
		p2 dies     | start p3
	`,
	"the device goes while it has no worker": up + `
		p1 dies     | start p2
		gone        | kill p2; end
	`,
	"an upgrade": up + `
		upgrade     | start p2 of new
		p2 prepared | stop p1
		2s          |
		p1 ends     | serve p2
		1s          |
		p2 serving  | log serves
		p2 ready    | answer p2 for p1 after 3s
		p2 dies     | start p3 of new
	`,
	"one upgrade at a time": up + `
		upgrade     | start p2 of new
		upgrade     | answer: another upgrade is under way
		p2 ends     | answer: the serving process ended before it was ready: ended by itself
		upgrade     | start p3 of new
	`,
	"an upgrade to what cannot be started": up + `
		upgrade     | start p2 of new
		p2 unstarted | answer: no fork
		p1 dies     | start p3
	`,
	"an upgrade to what takes too long": up + `
		upgrade     | start p2 of new
		25s         | kill p2; answer: the worker was not ready in time
		p2 prepared |
		p2 dies     |
	`,
	"a worker dies while a candidate prepares itself": up + `
		upgrade     | start p2 of new
		p1 dies     | start p3
		p3 prepared | serve p3
		p3 serving  | log serves
		p3 ready    |
		p2 prepared | stop p3
		p3 ends     | serve p2
		p2 serving  | log serves
		p2 ready    | answer p2 for p3
	`,
	"a candidate is prepared before the next worker": up + `
		upgrade     | start p2 of new
		p1 dies     | start p3
		p2 prepared | kill p3; serve p2
		p3 dies     |
		p2 serving  | log serves
		p2 ready    | answer p2 for none
	`,
	"a candidate is prepared while the next worker comes to serve": up + `
		upgrade     | start p2 of new
		p1 dies     | start p3
		p3 prepared | serve p3
		p2 prepared |
		p3 serving  | log serves
		p3 ready    | stop p3
		p3 ends     | serve p2
	`,
	"an upgrade where no worker can be started": up + `
		p1 dies     | start p2
		p2 unstarted | start p3
		p3 unstarted |
		upgrade     | start p4 of new
		50ms        | start p5
		p4 prepared | kill p5; serve p4
		p4 serving  | log serves
		p4 ready    | answer p4 for none after 50ms
	`,
	"the new program does not serve": up + `
		upgrade     | start p2 of new
		p2 prepared | stop p1
		p1 ends     | serve p2
		p2 dies     | start p3; answer: the new program does not serve, the old one goes on: the serving process ended before it was ready: killed
		p3 prepared | serve p3
		p3 serving  | log serves
		p3 ready    |
		p3 dies     | start p4
	`,
	"the old worker takes too long to stop": up + `
		upgrade     | start p2 of new
		p2 prepared | stop p1
		5s          | kill p1
		p1 dies     | serve p2
	`,
	"a candidate dies after the old worker was told to stop": up + `
		upgrade     | start p2 of new
		p2 prepared | stop p1
		p2 dies     | answer: the serving process ended before it was ready: killed
		p1 ends     | start p3
	`,
	"a worker is late and serves before it is killed": up + `
		p1 dies     | start p2
		p2 prepared | serve p2
		25s         | kill p2
		p2 serving  | log serves
		p2 dies     | start p3
	`,
	"the device is unmounted during an upgrade": up + `
		upgrade     | start p2 of new
		p1 leaves   | hear
		p2 prepared |
		p1 ends     | kill p2; answer: the device has ended; end
	`,
	"an upgrade while there are extra devices alone": up + `
		p1 stays    | hear
		upgrade     | start p2 of new
		p2 prepared | stop p1
		p1 ends     | serve p2
		p2 serving  | log serves
		p2 stays    | hear
		p2 ready    | answer p2 for p1
	`,
	"a worker dies while there are extra devices alone": up + `
		p1 stays    | hear
		p1 dies     | start p2
		p2 prepared | serve p2
		p2 serving  | log serves
		p2 stays    | hear
		p2 ready    |
		gone        |
		p2 ends     | end
	`,
	"the extra devices end while there is no worker": up + `
		p1 stays    | hear
		p1 dies     | start p2
		gone        | kill p2; end
	`,
	"another image": up + `
		p1 asks     | start p2 with image
		p1 asks     | answer: another upgrade is under way
		p2 prepared | stop p1
		p1 ends     | serve p2
		p2 serving  | log serves; answer p2 for p1
		p1 asks     | answer: the worker that has asked was replaced
		p2 ready    |
		p2 dies     | start p3 with image
	`,
	"a worker dies before it is ready, and its image was served": up + `
		p1 asks     | start p2 with image
		p2 prepared | stop p1
		p1 ends     | serve p2
		p2 serving  | log serves; answer p2 for p1
		p2 dies     | start p3 with image
	`,
	"a worker dies before it serves another image": up + `
		p1 asks     | start p2 with image
		p2 prepared | stop p1
		p1 ends     | serve p2
		p2 dies     | start p3; answer: the new program does not serve, the old one goes on: the serving process ended before it was ready: killed
	`,
	"a worker dies that has published another image": up + `
		p1 publishes |
		p1 asks     | start p2 with image
		p2 prepared | stop p1
		p1 ends     | serve p2
		p2 publishes |
		p2 dies     | start p3 with image; answer p2 for p1
		p3 prepared | serve p3
		p3 serving  | log serves
		p3 ready    |
	`,
	"a worker of a new program dies that has published": up + `
		upgrade     | start p2 of new
		p2 prepared | stop p1
		p1 ends     | serve p2
		p2 publishes |
		p2 dies     | start p3; answer: the new program does not serve, the old one goes on: the serving process ended before it was ready: killed
	`,
	"a worker dies that has asked for another image": up + `
		p1 asks     | start p2 with image
		p1 dies     | kill p2; start p3; answer: the worker that has asked was replaced
		p2 prepared |
		p3 prepared | serve p3
		p1 asks     | answer: the worker that has asked was replaced
		p3 asks     | start p4 with image
	`,
	"a worker dies while it stops for another image": up + `
		p1 asks     | start p2 with image
		p2 prepared | stop p1
		p1 dies     | serve p2
	`,
	"a program is asked for while its worker is replaced": up + `
		p1 asks     | start p2 with image
		upgrade     | answer: another upgrade is under way
	`,
}
