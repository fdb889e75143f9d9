package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
)

// FerretDB 1 carries out an update in three steps, read, change and write the whole
// document, and lets others in between. MongoDB changes a document atomically, and
// drover relies on it. So all that changes something passes here one by one.
var changes = map[string]bool{
	"insert": true, "update": true, "delete": true, "findAndModify": true, "createIndexes": true, "dropIndexes": true, "drop": true,
	"dropDatabase": true,
}

// maxMessage is MongoDB's bound on a message, in bytes.
const maxMessage = 48_000_000

// serve passes on connections to the socket inner until there are no more.
func serve(outer net.Listener, inner string) {
	var one sync.Mutex
	for {
		client, err := outer.Accept()
		if err != nil {
			return // closed
		}
		go func() {
			defer client.Close()
			server, err := net.Dial("unix", inner)
			if err != nil {
				return // the client tries again
			}
			defer server.Close()
			_ = exchange(client, server, &one) // it ends with its client
		}()
	}
}

// exchange passes on questions and their answers; drivers ask one at a time.
func exchange(client, server net.Conn, one *sync.Mutex) error {
	for {
		question, err := message(client)
		if err != nil {
			return err
		}
		answer, err := ask(server, question, one)
		if err != nil {
			return err
		}
		if _, err := client.Write(answer); err != nil {
			return err
		}
	}
}

func ask(server net.Conn, question []byte, one *sync.Mutex) ([]byte, error) {
	if changes[command(question)] {
		one.Lock()
		defer one.Unlock()
	}
	if _, err := server.Write(question); err != nil {
		return nil, err
	}
	return message(server)
}

// message reads a message; it begins with its length.
func message(from io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return nil, err
	}
	length := binary.LittleEndian.Uint32(head[:])
	if length < 16 || length > maxMessage {
		return nil, fmt.Errorf("a message of %d bytes", length)
	}
	all := make([]byte, length)
	copy(all, head[:])
	_, err := io.ReadFull(from, all[4:])
	return all, err
}

// Where the command of an OP_MSG stands: behind the header, the flags, the kind of
// the section, the length of its document and the type of the first field.
const (
	opMsg     = 2013
	atOpcode  = 12
	atCommand = 16 + 4 + 1 + 4 + 1
)

// command names what a message asks for, "" for one of the old form.
func command(msg []byte) string {
	if len(msg) <= atCommand || binary.LittleEndian.Uint32(msg[atOpcode:]) != opMsg {
		return ""
	}
	name, _, _ := bytes.Cut(msg[atCommand:], []byte{0})
	return string(name)
}
