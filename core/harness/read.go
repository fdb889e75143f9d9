package harness

import (
	"bytes"
	"io"

	"drover/core"
	"drover/core/blobstore/pack"
	"drover/core/harness/cases"
)

// TarFile is the name under which requests carry a harness.
const TarFile = "harness.tar"

// Read is Pack for a folder that somebody else packed: nothing in the archive is
// taken on trust. Returns INVALID or LIMIT for what Pack cannot have made.
func Read(tar []byte) (Package, error) {
	if len(tar) > MaxPackBytes {
		return Package{}, core.Errorf(core.CodeLimit, "", "the harness has more than %d bytes", int64(MaxPackBytes))
	}
	if _, err := pack.Check(bytes.NewReader(tar), pack.Limits{Entries: MaxPackFiles, Bytes: MaxPackBytes}); err != nil {
		return Package{}, core.Wrap(err, core.CodeOf(err), "", "the harness's archive cannot be used")
	}
	archive, err := cases.Index(bytes.NewReader(tar), int64(len(tar)))
	if err != nil {
		return Package{}, err
	}
	p := Package{Tar: tar}
	if p.Config, err = archivedConfig(archive); err != nil {
		return Package{}, err
	}
	_, program := archive.Size(MainFile)
	_, stock := archive.Size(cases.File)
	switch {
	case program && !archive.Executable(MainFile):
		return Package{}, core.Errorf(core.CodeInvalid, MainFile, "%s of the harness is not executable: chmod +x it before it is packed", MainFile)
	case program:
		return p, nil
	case !stock:
		return Package{}, core.Errorf(core.CodeInvalid, MainFile, "the harness has neither %s, a program that grades, nor %s, tests for the stock harness", MainFile, cases.File)
	}
	p.Config.stock = true
	p.Cases, err = archive.Plan()
	return p, err
}

func archivedConfig(archive *cases.Archive) (Config, error) {
	r, size, err := archive.Open(ConfigFile)
	if core.Is(err, core.CodeNotFound) {
		return Config{}, nil
	}
	if err != nil {
		return Config{}, err
	}
	if size > MaxConfigSize {
		return Config{}, core.Errorf(core.CodeLimit, ConfigFile, "%s of the harness is longer than %d bytes", ConfigFile, MaxConfigSize)
	}
	raw, err := io.ReadAll(r)
	if err != nil {
		return Config{}, core.Wrap(err, core.CodeInvalid, ConfigFile, "%s of the harness cannot be read", ConfigFile)
	}
	config, err := ParseConfig(raw)
	return config, core.Wrap(err, core.CodeInvalid, ConfigFile, "%s of the harness", ConfigFile)
}

// PackFiles is Pack for a folder that is in memory, by path. Its main may be run,
// whatever it says: archives of some systems do not tell.
func PackFiles(files map[string]pack.File) (Package, error) {
	if main, ok := files[MainFile]; ok {
		main.Run = true
		files[MainFile] = main
	}
	var tar bytes.Buffer
	if err := pack.Files(files, &tar, pack.Limits{Entries: MaxPackFiles, Bytes: MaxPackBytes}); err != nil {
		return Package{}, core.Wrap(err, core.CodeOf(err), "", "the harness cannot be packed")
	}
	return Read(tar.Bytes())
}
