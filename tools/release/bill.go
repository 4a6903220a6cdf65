// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// bill writes the bill of materials: each program with its hash, and what it is made of, as the
// programs themselves say.
func (s *staging) bill() error {
	v, err := parseVersion(s.version, s.time())
	if err != nil {
		return err
	}
	b := cdx.NewBOM()
	b.Metadata = &cdx.Metadata{
		Timestamp: s.time().Format("2006-01-02T15:04:05Z"),
		Component: &cdx.Component{BOMRef: "zramfs", Type: cdx.ComponentTypeApplication, Name: "zramfs", Version: v.upstream, Description: summary,
			Licenses:   &cdx.Licenses{{License: &cdx.License{ID: licence}}},
			PackageURL: "pkg:golang/github.com/zramfs/zramfs@" + v.upstream},
	}
	var components []cdx.Component
	var all []string
	dependencies := []cdx.Dependency{}
	for _, arch := range s.arches {
		for _, program := range programs {
			c, err := s.component(arch, program, v)
			if err != nil {
				return err
			}
			components = append(components, c)
			all = append(all, c.BOMRef)
			dependencies = append(dependencies, cdx.Dependency{Ref: c.BOMRef, Dependencies: s.partsOf(c.Name)})
		}
	}
	for _, m := range s.modules {
		components = append(components, cdx.Component{BOMRef: m.reference(), Type: cdx.ComponentTypeLibrary, Name: m.name, Version: m.version,
			PackageURL: m.reference(), ExternalReferences: &[]cdx.ExternalReference{{Type: cdx.ERTypeWebsite, URL: m.url}}, Properties: m.properties()})
	}
	dependencies = append(dependencies, cdx.Dependency{Ref: "zramfs", Dependencies: &all})
	b.Components, b.Dependencies = &components, &dependencies
	b.SerialNumber = s.serial(components)
	out, err := os.Create(filepath.Join(s.out, "zramfs-"+v.upstream+".cdx.json"))
	if err != nil {
		return err
	}
	defer out.Close()
	if err := cdx.NewBOMEncoder(out, cdx.BOMFileFormatJSON).SetPretty(true).Encode(b); err != nil {
		return err
	}
	return out.Close()
}

func (s *staging) component(arch, program string, v version) (cdx.Component, error) {
	name := filepath.Base(program)
	text, err := os.ReadFile(filepath.Join(s.installed(arch), program))
	if err != nil {
		return cdx.Component{}, err
	}
	sum := sha256.Sum256(text)
	return cdx.Component{BOMRef: name + "-linux-" + arch, Type: cdx.ComponentTypeApplication, Name: name, Version: v.upstream,
		Hashes:     &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}},
		Licenses:   &cdx.Licenses{{License: &cdx.License{ID: licence}}},
		Properties: &[]cdx.Property{{Name: "zramfs:GOARCH", Value: arch}}}, nil
}

// partsOf returns the references of what a program contains.
func (s *staging) partsOf(program string) *[]string {
	var refs []string
	for _, m := range s.modules {
		if m.in[program] {
			refs = append(refs, m.reference())
		}
	}
	return &refs
}

// reference is the module's package URL.
func (m module) reference() string {
	if m.name == plots {
		return "pkg:npm/uplot@" + m.version
	}
	return "pkg:golang/" + m.name + "@" + m.version
}

// properties has the sum that go.sum has of the module: it is over its files, and no hash of one.
func (m module) properties() *[]cdx.Property {
	if m.sum == "" {
		return nil
	}
	return &[]cdx.Property{{Name: "go.sum", Value: m.sum}}
}

// serial makes the number of the bill from what it says, so that the same programs have the same.
func (s *staging) serial(components []cdx.Component) string {
	h := sha256.New()
	for _, c := range components {
		fmt.Fprintln(h, c.BOMRef)
		if c.Hashes != nil {
			fmt.Fprintln(h, (*c.Hashes)[0].Value)
		}
	}
	n := h.Sum(nil)[:16]
	n[6], n[8] = n[6]&0x0f|0x80, n[8]&0x3f|0x80 // version 8 of RFC 9562: made as we like
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", n[:4], n[4:6], n[6:8], n[8:10], n[10:])
}

const sumsFile = "SHA256SUMS"

// sums writes the checksums of all that lies in the directory, as sha256sum reads them.
func (s *staging) sums() error {
	sums, err := hashes(s.out)
	if err != nil {
		return err
	}
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&out, "%s  %s\n", sums[name], name)
	}
	return os.WriteFile(filepath.Join(s.out, sumsFile), []byte(out.String()), 0o644)
}

// hashes returns the hash of each file in dir.
func hashes(dir string) (map[string]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	sums := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(text)
		sums[e.Name()] = hex.EncodeToString(sum[:])
	}
	return sums, nil
}
