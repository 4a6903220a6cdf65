// SPDX-License-Identifier: Apache-2.0

package main

import "fmt"

// A swapMeasure is a line of the report.
type swapMeasure struct {
	name, unit string
	get        func(swapFigure) float64
	by         basis  // chooses the vm.page-cluster with which subjects are compared
	target     target // the zero target where there is none
}

// A basis chooses, among the values of vm.page-cluster, the best for a phase of the load. All
// measures of a phase are compared at one and the same value.
type basis struct {
	get  func(swapFigure) float64
	less bool // is better
}

// The bases: the speed of the fill, that of the walk, and the mean time of all touches.
var (
	byFill  = basis{get: func(f swapFigure) float64 { return f.Fill }}
	byWalk  = basis{get: func(f swapFigure) float64 { return f.Walk }}
	byTouch = basis{get: func(f swapFigure) float64 { return f.Touch }, less: true}
)

// best returns the index of the value of vm.page-cluster whose rounds have the best median; the
// first of equals.
func (b basis) best(figures [][]swapFigure) (index int) {
	for i := range figures {
		one, other := medianOf(figures[i], b.get), medianOf(figures[index], b.get)
		if b.less && one < other || !b.less && one > other {
			index = i
		}
	}
	return index
}

// swapMeasures returns the lines of the report.
func swapMeasures(times int) []swapMeasure {
	memory := target{quantity: "memory", less: true, reach: 0.75, stretch: 0.65}
	faster := func(reach, stretch float64) target {
		return target{quantity: throughputRatio, reach: reach, stretch: stretch}
	}
	less := func(quantity string, reach, stretch float64) target {
		return target{quantity: quantity, less: true, reach: reach, stretch: stretch}
	}
	none := target{}
	return []swapMeasure{
		{"memory for the same work, filled", "MiB", func(f swapFigure) float64 { return f.TakenFill }, byFill, memory},
		{"  walked", "MiB", func(f swapFigure) float64 { return f.TakenWalk }, byWalk, memory},
		{"  touched", "MiB", func(f swapFigure) float64 { return f.TakenTouch }, byTouch, memory},
		{"  of it zswap", "MiB", func(f swapFigure) float64 { return f.TakenZswap }, byTouch, none},
		{fmt.Sprintf("fill %dx the limit", times), "MB/s", byFill.get, byFill, faster(1.0, 1.2)},
		{"walk it in order", "MB/s", byWalk.get, byWalk, faster(1.0, 1.3)},
		{"  pages reached in the time for it", "%", func(f swapFigure) float64 { return 100 * f.Walked }, byWalk, none},
		{"touch it, mean", "us", byTouch.get, byTouch, less("time", 2.2, 1.7)},
		{"  a miss, mean", "us", func(f swapFigure) float64 { return f.Miss }, byTouch, none},
		{"  a miss, p50", "us", func(f swapFigure) float64 { return f.MissP50 }, byTouch, less(medianRatio, 3, 2.2)},
		{"  a miss, p99", "us", func(f swapFigure) float64 { return f.MissP99 }, byTouch, none},
		{"  touches that missed: major faults", "%", func(f swapFigure) float64 { return 100 * f.Major }, byTouch, none},
		{"  read ahead before: minor faults", "%", func(f swapFigure) float64 { return 100 * f.Minor }, byTouch, none},
		{"  without a fault", "%", func(f swapFigure) float64 { return 100 * f.None }, byTouch, none},
		{"  pages swapped in from zswap", "%", func(f swapFigure) float64 { return 100 * f.Hot }, byTouch, none},
		{"written back by zswap, all phases", "GiB", func(f swapFigure) float64 { return f.WrittenBack }, byTouch, none},
		{"CPU a GiB swapped out or in", "s", func(f swapFigure) float64 { return f.CPU }, byWalk, less("CPU time", 1.6, 1.3)},
		{"  of it the load and its reclaim", "s", func(f swapFigure) float64 { return f.share(f.Spent.Load) }, byWalk, none},
		{"  of it zramfs", "s", func(f swapFigure) float64 { return f.share(f.Spent.Server) }, byWalk, none},
		{"  of it threads of the kernel", "s", func(f swapFigure) float64 { return f.share(f.Spent.Kernel) }, byWalk, none},
		{"CPU of the fill", "s", func(f swapFigure) float64 { return f.FillCPU.own() }, byFill, none},
		{"CPU of the walk", "s", func(f swapFigure) float64 { return f.WalkCPU.own() }, byWalk, none},
		{"CPU of a touch", "us", func(f swapFigure) float64 { return f.TouchCPU }, byTouch, none},
		{"CPU of others meanwhile", "s", func(f swapFigure) float64 { return f.Spent.Machine - f.Spent.own() }, byWalk, none},
		{"swapped out by fill and walk", "GiB", func(f swapFigure) float64 { return f.Out }, byWalk, none},
		{"swapped in by fill and walk", "GiB", func(f swapFigure) float64 { return f.In }, byWalk, none},
		{"memory a stored byte takes", "", func(f swapFigure) float64 { return f.Memory }, byFill, none},
	}
}
