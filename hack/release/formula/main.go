// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Command formula writes the Homebrew formula of wfctl for a release, from the
// checksums of its archives.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"text/template"
)

const formula = `class Wfctl < Formula
  desc "See what a fleet on Flux waits for, and act on it safely"
  homepage "https://github.com/isometry/wavefront-controller"
  version "{{ .Version }}"
  license "Apache-2.0"
{{ range .Systems }}
  on_{{ .Name }} do
{{- range .Archives }}
    on_{{ .Chip }} do
      url "https://github.com/isometry/wavefront-controller/releases/download/v{{ $.Version }}/{{ .File }}"
      sha256 "{{ .Sum }}"
    end
{{- end }}
  end
{{ end }}
  def install
    bin.install "wfctl"
    bin.install_symlink "wfctl" => "kubectl-wavefront"
    bin.install_symlink "wfctl" => "flux-wavefront"
    generate_completions_from_executable(bin/"wfctl", "completion")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/wfctl --version")
  end
end
`

// archive is one platform's.
type archive struct{ Chip, File, Sum string }

// system is an operating system that Homebrew runs on.
type system struct {
	Name     string
	Archives []archive
}

func main() {
	err := run(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "formula:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	var version, checksums, output string
	flags := flag.NewFlagSet("formula", flag.ContinueOnError)
	flags.StringVar(&version, "version", "", "version of the release, with or without a leading v")
	flags.StringVar(&checksums, "checksums", "dist/release/checksums.txt", "file with the checksums of the archives")
	flags.StringVar(&output, "output", "dist/wfctl.rb", "file to write")
	if err := flags.Parse(args); err != nil {
		return err
	}
	content, err := os.ReadFile(checksums)
	if err != nil {
		return fmt.Errorf("failed to read the checksums: %w", err)
	}
	rendered, err := render(strings.TrimPrefix(version, "v"), content)
	if err != nil {
		return err
	}
	if err := os.WriteFile(output, rendered, 0o644); err != nil {
		return fmt.Errorf("failed to write the formula: %w", err)
	}
	return nil
}

// render fills in the formula; an archive without a checksum is an error.
func render(version string, checksums []byte) ([]byte, error) {
	if !regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`).MatchString(version) {
		return nil, fmt.Errorf("failed to parse the flag --version: %q is no version", version)
	}
	sums := parse(checksums)
	data := struct {
		Version string
		Systems []system
	}{Version: version}
	for _, name := range []struct{ brew, goos string }{{"macos", "darwin"}, {"linux", "linux"}} {
		one := system{Name: name.brew}
		for _, chip := range []struct{ brew, goarch string }{{"arm", "arm64"}, {"intel", "amd64"}} {
			file := fmt.Sprintf("wfctl_%s_%s_%s.tar.gz", version, name.goos, chip.goarch)
			sum, ok := sums[file]
			if !ok {
				return nil, fmt.Errorf("failed to find the checksum of %q", file)
			}
			one.Archives = append(one.Archives, archive{Chip: chip.brew, File: file, Sum: sum})
		}
		data.Systems = append(data.Systems, one)
	}
	var rendered bytes.Buffer
	if err := template.Must(template.New("formula").Parse(formula)).Execute(&rendered, data); err != nil {
		return nil, fmt.Errorf("failed to render the formula: %w", err)
	}
	return rendered.Bytes(), nil
}

// parse reads lines as sha256sum writes them.
func parse(checksums []byte) map[string]string {
	sums := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(checksums))
	for lines.Scan() {
		if fields := strings.Fields(lines.Text()); len(fields) == 2 && len(fields[0]) == 64 {
			sums[strings.TrimPrefix(fields[1], "*")] = fields[0]
		}
	}
	return sums
}
