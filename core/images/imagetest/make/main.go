// Command make makes one image for tests: package imagetest starts it. It is a program of
// its own because tests are built with the race detector, under which packing a system takes
// minutes of processor time.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"drover/core"
	"drover/core/images"
	"drover/core/images/debian"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run makes the image that its arguments, a file and a suite with packages, describe. The
// file is there whole as soon as its record, FILE.json, is.
func run() error {
	const fewest = 3
	if len(os.Args) < fewest {
		return errors.New("usage: make FILE SUITE [PACKAGE...]")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	memory := &memory{file: os.Args[1]}
	store := images.Store{Images: memory, Blobs: memory}
	spec := debian.Spec{Suite: os.Args[2], Packages: os.Args[fewest:]}
	return debian.Build(ctx, spec, os.Stderr, func(system io.Reader, opts images.Options) error {
		_, err := store.Keep(ctx, "built", spec.Source(), system, opts)
		return err
	})
}

// memory keeps one image in files.
type memory struct {
	core.Blobs
	core.Images
	file string
}

func (s *memory) Put(_ context.Context, r io.Reader, limit int64) (digest string, size int64, err error) {
	f, err := os.Create(s.file)
	if err != nil {
		return "", 0, err
	}
	sum := sha256.New()
	size, err = io.Copy(io.MultiWriter(f, sum), io.LimitReader(r, limit))
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), size, errors.Join(err, f.Close())
}

func (s *memory) PutImage(_ context.Context, image core.Image) error {
	doc, err := json.Marshal(image)
	if err != nil {
		return err
	}
	const temp = ".new"
	return errors.Join(os.WriteFile(s.file+temp, doc, 0o600), os.Rename(s.file+temp, s.file+".json"))
}
