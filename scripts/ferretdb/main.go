// Ferretdb is a server that speaks MongoDB's protocol, for tests: FerretDB on
// SQLite, on one machine and without a database of its own to install. It prints
// its URL once it can be used and ends on SIGTERM.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/FerretDB/FerretDB/ferretdb"
)

func main() {
	dir := flag.String("dir", ".", "folder that holds the data, one SQLite file a database; it must exist")
	listen := flag.String("listen", "127.0.0.1:27017", "host:port or the path of a unix socket")
	durable := flag.Bool("durable", false, "fsync what is written; without it data outlives the process, not the machine")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, *dir, *listen, *durable); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, dir, listen string, durable bool) error {
	settings := url.Values{"_pragma": {"busy_timeout(10000)", "journal_mode(wal)", "synchronous(off)"}}
	if durable {
		settings["_pragma"][2] = "synchronous(full)"
	}
	inner := filepath.Join(dir, "ferretdb.sock")
	if err := forget(inner); err != nil {
		return err
	}
	db, err := ferretdb.New(&ferretdb.Config{
		Listener:  ferretdb.ListenerConfig{Unix: inner},
		Logger:    slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
		Handler:   "sqlite",
		SQLiteURL: (&url.URL{Scheme: "file", Path: filepath.Clean(dir) + "/", RawQuery: settings.Encode()}).String(),
	})
	if err != nil {
		return err
	}
	network, where := "tcp", ""
	if filepath.IsAbs(listen) {
		network = "unix"
		if err := forget(listen); err != nil {
			return err
		}
	}
	socket, err := net.Listen(network, listen)
	if err != nil {
		return err
	}
	if where = socket.Addr().String(); network == "unix" {
		where = url.PathEscape(where)
	}
	go func() {
		<-ctx.Done()
		_ = socket.Close()
	}()
	go serve(socket, inner)
	fmt.Printf("mongodb://%s/\n", where)
	return db.Run(ctx)
}

// forget removes the socket of a server that was killed.
func forget(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
