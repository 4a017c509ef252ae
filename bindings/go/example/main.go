// SPDX-License-Identifier: Apache-2.0

// Everything that the package has, in numbers that tests/bindings/go.sh knows.
package main

import (
	"fmt"
	"inferogram"
	"sync"
)

func recursive(depth int) int {
	zone := inferogram.Begin("recursive")
	defer zone.End()
	if depth > 0 {
		return 1 + recursive(depth-1)
	}
	return 0
}

func panics() {
	zone := inferogram.Begin("panics")
	defer zone.End()
	panic("wanted")
}

func main() {
	if recursive(4) != 4 {
		panic("recursive")
	}
	for i := 0; i < 10; i++ {
		zone := inferogram.Begin(fmt.Sprintf("work %d", i%2))
		zone.Text("a text").Value(7).Int("round", int64(i)).Float("fill", 0.5).String("who", "me\x00not")
		zone.End()
		zone.End()
	}
	for i := 0; i < 3; i++ {
		func() {
			defer func() { _ = recover() }()
			panics()
		}()
	}

	model := inferogram.NewModel(inferogram.ModelOptions{Name: "ocr", Runtime: "test 1"})
	defer model.Close()
	load := model.Event(inferogram.Load, "main")
	load.LoadState(inferogram.LoadCached)
	load.End()
	for i := 0; i < 4; i++ {
		event := model.Event(inferogram.Inference, "decode")
		event.End()
	}

	// Many goroutines at a time, each with its own zones, whichever threads they run on.
	flow := inferogram.NewFlow("frame", 9)
	span := inferogram.BeginSpan("fetch", 1)
	zone := inferogram.Begin("produce")
	flow.Begin()
	zone.End()
	var all sync.WaitGroup
	for i := 0; i < 50; i++ {
		all.Add(1)
		go func(i int) {
			defer all.Done()
			outer := inferogram.Begin("outer")
			inner := inferogram.Begin("inner")
			if i == 0 {
				flow.End()
				span.End()
			}
			inner.End()
			outer.End()
		}(i)
	}
	all.Wait()
	for i := 0; i < 6; i++ {
		inferogram.Counter("depth", float64(i))
		inferogram.Frame("loop")
	}
	inferogram.Message("done", inferogram.LevelWarning)
	fmt.Println(inferogram.IsRecording())
}
