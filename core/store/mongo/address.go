package mongo

import (
	"errors"
	"net"
	"net/url"
	"strings"

	"drover/core"

	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
)

// defaultDatabase is used if a URL names no database.
const defaultDatabase = "drover"

// maxConnections is how many connections one process has to a server at most; the URL may lower it by maxPoolSize.
const maxConnections = 64

// target is what a URL names.
type target struct {
	name, database, password string
	client                   *options.ClientOptions
	connections              int
}

// parse reads a URL, mongodb:// or mongodb+srv://. Its read and write concerns and its read preference are ignored:
// the ledger's guarantees need fixed ones.
func parse(text string, opts Options) (target, error) {
	t, err := split(text)
	if err != nil {
		return target{}, err
	}
	client := options.Client().ApplyURI(text)
	var unknown *net.DNSError
	switch err := client.Validate(); {
	case errors.As(err, &unknown):
		return target{}, core.Errorf(core.CodeUnavailable, t.name, "the hosts of result store %s are not found: check the name in its URL, and this machine's DNS", t.name)
	case err != nil:
		return target{}, badURL() // the cause may repeat a part of the password
	}
	journal := true
	client.SetAppName("drover").
		SetWriteConcern(&writeconcern.WriteConcern{W: writeconcern.WCMajority, Journal: &journal}).
		SetReadConcern(readconcern.Majority()).
		SetReadPreference(readpref.Primary()).
		SetServerSelectionTimeout(opts.Select).
		SetConnectTimeout(opts.Select)
	t.connections = maxConnections
	if most := client.MaxPoolSize; most != nil && *most > 0 && *most < maxConnections {
		t.connections = int(*most)
	} else {
		client.SetMaxPoolSize(maxConnections)
	}
	t.client = client
	return t, nil
}

// split extracts the parts of a URL that the driver does not return.
func split(text string) (target, error) {
	_, rest, _ := strings.Cut(text, "://")
	rest, settings, _ := strings.Cut(rest, "?")
	authority, database, _ := strings.Cut(rest, "/")
	user, hosts, has := strings.Cut(authority, "@")
	if !has {
		user, hosts = "", authority
	}
	if strings.Contains(settings, "@") { // an unescaped ? in a password, which would otherwise be taken for a host
		return target{}, badURL()
	}
	_, password, _ := strings.Cut(user, ":")
	t := target{}
	for _, part := range []struct {
		into *string
		from string
	}{{&t.name, hosts}, {&t.database, database}, {&t.password, password}} {
		var err error
		if *part.into, err = url.PathUnescape(part.from); err != nil {
			return target{}, badURL()
		}
	}
	if t.database == "" {
		t.database = defaultDatabase
	}
	t.name += "/" + t.database
	return t, nil
}

func badURL() error {
	return core.Errorf(core.CodeInvalid, "", "the URL of the result store cannot be used: write mongodb://USER@HOST,HOST/DATABASE?replicaSet=NAME, "+
		"and @ : / ? %% in user and password as %%40 %%3A %%2F %%3F %%25")
}
