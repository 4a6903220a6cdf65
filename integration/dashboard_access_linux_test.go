// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// A spoken is a node of the tree that screen readers get of a page.
type spoken struct {
	NodeID, ParentID string
	Ignored          bool
	Role, Name       struct{ Value string }
	Properties       []struct {
		Name  string
		Value struct{ Value any }
	}
}

// property returns what a node says of itself, "" for nothing.
func (s spoken) property(name string) string {
	for _, p := range s.Properties {
		if p.Name == name {
			return fmt.Sprint(p.Value.Value)
		}
	}
	return ""
}

// spokenTree returns all nodes that are not ignored.
func (b *browser) spokenTree() []spoken {
	b.t.Helper()
	var tree struct{ Nodes []spoken }
	b.do("Accessibility.enable", nil, nil)
	b.do("Accessibility.getFullAXTree", nil, &tree)
	return slices.DeleteFunc(tree.Nodes, func(s spoken) bool { return s.Ignored })
}

// named lists the names of all nodes with a role, in the order of the page.
func named(tree []spoken, role string) (names []string) {
	for _, s := range tree {
		if s.Role.Value == role {
			names = append(names, s.Name.Value)
		}
	}
	return names
}

// focused presses Tab and returns what has the focus then, as a word that is one element's.
func (b *browser) focused() (element string) {
	b.t.Helper()
	for _, event := range []string{"keyDown", "keyUp"} {
		b.do("Input.dispatchKeyEvent", map[string]any{"type": event, "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}, nil)
	}
	b.eval(`(e => e === document.body ? "" : e.id || (e.closest("[id]") || e.parentNode).id + " " + e.tagName.toLowerCase() + " " + (e.getAttribute("aria-labelledby") || e.textContent.trim() || e.value))(document.activeElement)`, &element)
	return element
}

// TestDashboardIsSpoken reads the dashboard as screen readers do, and walks through it by keyboard.
func TestDashboardIsSpoken(t *testing.T) {
	browserPath(t)
	require.FUSE(t)
	require.Root(t)
	dir, other := mount(t, "--size", "64M"), mount(t, "--size", "64M")
	url := startDashboard(t)
	b := startBrowser(t)
	b.size(1920, 1080, false)
	b.show(url, dir)
	tree := b.spokenTree()
	for _, s := range tree {
		switch s.Role.Value {
		case "button", "link", "radio", "checkbox", "textbox", "combobox", "slider", "meter", "image", "img", "table", "navigation", "main", "RootWebArea", "heading", "region", "article", "group":
			if strings.TrimSpace(s.Name.Value) == "" {
				t.Errorf("a %s has no name: %+v", s.Role.Value, s)
			}
		}
		if s.property("focusable") == "true" && strings.TrimSpace(s.Name.Value) == "" {
			t.Errorf("what can have the focus has no name: %+v", s)
		}
	}
	for role, want := range map[string][]string{
		"navigation": {"Devices"}, "region": {"Now", "Over time", "Details"}, "link": {"Skip to the figures", "metrics", "health"},
		"meter":   {"Swap", "Memory taken", "Processor time, per cent of one core", "Memory pressure, per cent of ten seconds"},
		"heading": {"zramfs", "Memory saved", "Swap", "Memory taken", "Codec mix", "Load", "Events", "Requests since the device was made", "Shown time in figures"},
		"button":  {dir, other}, "columnheader": {"kind", "requests", "p50", "p99", "least", "mean", "most", "now"},
	} {
		all := named(tree, role)
		for _, name := range want {
			if !slices.Contains(all, name) {
				t.Errorf("no %s is called %q: %q", role, name, all)
			}
		}
	}
	live := 0
	for _, s := range tree {
		if s.Role.Value == "status" && s.property("live") == "polite" {
			live++
		}
	}
	if live != 2 {
		t.Errorf("%d regions tell changes politely, want health and connection", live)
	}
	wantFocusOrder(t, b)
	b.wantClean(url)
}

// wantFocusOrder wants the keyboard to reach every control, in the order of the page, and to leave
// it at the end.
func wantFocusOrder(t *testing.T, b *browser) {
	t.Helper()
	b.eval("document.activeElement.blur()", nil)
	var order []string
	for range 40 {
		at := b.focused()
		if at == "" || len(order) > 0 && at == order[0] {
			break
		}
		order = append(order, at)
	}
	var sorted bool
	b.eval(`(() => { const all = [...document.querySelectorAll("a[href], button, input:checked, [tabindex='0']")].filter(e => e.offsetParent || e.className === "skip");
		window.reachable = all.length; return true })()`, &sorted)
	var reachable int
	b.eval("window.reachable", &reachable)
	if len(order) != reachable {
		t.Errorf("Tab reaches %d controls of %d: %q", len(order), reachable, order)
	}
	places := []string{"devices button", "theme", "events"}
	at := -1
	for _, place := range places {
		next := slices.IndexFunc(order, func(s string) bool { return strings.HasPrefix(s, place) })
		if next <= at {
			t.Errorf("%s is at place %d of the focus order %q", place, next, order)
		}
		at = next
	}
}
