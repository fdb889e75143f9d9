package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/harness"
	"drover/core/harness/languages"
	"drover/core/images"
	"drover/core/images/debian"
	"drover/core/images/oci"
)

// ImageCommand is drover image.
func ImageCommand() *cli.Command {
	return &cli.Command{
		Name: "image", Usage: "build, list and remove the root file systems of VMs", OnUsageError: terminal.UsageError,
		Subcommands: []*cli.Command{
			access.ClusterCommand("build", "make an image of Debian packages, by mmdebstrap or debootstrap; judge has all languages", "NAME", buildFlags(), buildImage),
			access.ClusterCommand("import", "make an image of a saved container image or a tar of a root file system", "NAME FILE", nil, importImage),
			access.ClusterCommand("list", "list images", "", []cli.Flag{
				&cli.BoolFlag{Name: "all", Usage: "also those that a newer one of the same name has replaced", DisableDefaultText: true},
			}, listImages),
			access.ClusterCommand("show", "show an image and the pools that use it", "NAME[@DIGEST]", nil, showImage),
			access.ClusterCommand("remove", "remove an image, all of a name or one of them", "NAME[@DIGEST]", []cli.Flag{
				&cli.BoolFlag{Name: "force", Usage: "remove it even if pools use it; they cannot make VMs then", DisableDefaultText: true},
			}, removeImage),
		},
	}
}

func buildFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "suite", Usage: "of the distribution, such as `SUITE` bookworm; needed", DefaultText: "of judge: " + judgeSuite},
		&cli.StringSliceFlag{Name: "packages", Usage: "`NAMES` of packages to install, with commas between; what they depend on comes along"},
		&cli.StringSliceFlag{
			Name: "languages", DefaultText: "of judge: all",
			Usage: "`CODES` of languages that programs can be in, such as cpp,python3, or all: a program in each must work",
		},
		&cli.PathFlag{Name: "autograder", Usage: "the zip `FILE` of an autograder of Gradescope, whose setup.sh is run, with the network"},
		&cli.StringFlag{Name: "mirror", Usage: "where packages come from, an `URL`", DefaultText: "Debian's own"},
		&cli.BoolFlag{Name: "docs", Usage: "keep manuals, documents and translations", DisableDefaultText: true},
	}
}

// untilStopped returns a command's context, which ends with a signal, so that nothing stays half done.
func untilStopped(c *cli.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(c.Context, os.Interrupt, syscall.SIGTERM)
}

// The image that has all languages, unless something else is asked for under its name.
const judgeImage, judgeSuite = "judge", "bookworm"

func buildImage(c *cli.Context, h *access.Cluster) error {
	name, err := terminal.OneArg(c, "image's name")
	if err != nil {
		return err
	}
	if err := core.CheckName("image", name); err != nil {
		return err
	}
	spec := debian.Spec{Suite: c.String("suite"), Packages: c.StringSlice("packages"), Mirror: c.String("mirror"), Docs: c.Bool("docs")}
	if spec.Languages, err = languages.Choose(c.StringSlice("languages")); err != nil {
		return err
	}
	if file := c.Path("autograder"); file != "" {
		if spec.Autograder, err = autograder(file); err != nil {
			return err
		}
	}
	if name == judgeImage && len(spec.Packages)+len(spec.Languages) == 0 {
		spec.Languages = languages.All()
		spec.Suite = cmp.Or(spec.Suite, judgeSuite)
	}
	if spec.Suite == "" {
		return core.Errorf(core.CodeInvalid, name, "--suite is missing: name one, such as --suite bookworm")
	}
	ctx, stop := untilStopped(c)
	defer stop()
	var image core.Image
	err = debian.Build(ctx, spec, c.App.ErrWriter, func(system io.Reader, opts images.Options) error {
		var err error
		image, err = imagesOf(h).Keep(ctx, name, spec.Source(), system, opts)
		return err
	})
	return made(c, image, stopped(ctx, err))
}

// autograder reads the zip of an autograder and returns it as a harness.
func autograder(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, core.Wrap(err, core.CodeNotFound, file, "the autograder %s cannot be read", file)
	}
	if info.IsDir() {
		return nil, core.Errorf(core.CodeInvalid, file, "%s is a folder: name the zip file that Gradescope takes", file)
	}
	p, err := harness.Pack(file)
	if err == nil && !p.IsAutograder() {
		err = core.Errorf(core.CodeInvalid, file, "%s is no autograder of Gradescope: it has no run_autograder and setup.sh", file)
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(p.Tar()) // it is bounded by harness.MaxProgramBytes
}

// imagesOf is where the cluster keeps its images.
func imagesOf(h *access.Cluster) images.Store { return images.Store{Images: h.Store, Blobs: h.Blobs} }

// stopped reports that a command was stopped, if that is why it failed.
func stopped(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return terminal.ExitCode(terminal.ExitStopped)
	}
	return err
}

func importImage(c *cli.Context, h *access.Cluster) error {
	if c.NArg() != 2 {
		return core.Errorf(core.CodeInvalid, "", "%s takes two arguments, the image's name and the file or folder to import", c.Command.HelpName)
	}
	name, file := c.Args().Get(0), c.Args().Get(1)
	if err := core.CheckName("image", name); err != nil {
		return err
	}
	ctx, stop := untilStopped(c)
	defer stop()
	system, what, err := oci.Open(ctx, file, "", images.Defaults())
	if err != nil {
		return stopped(ctx, err)
	}
	source := strings.ToValidUTF8(what+" "+file, "?")
	image, err := imagesOf(h).Keep(ctx, name, source[:min(len(source), core.MaxSource)], system, images.Options{})
	return made(c, image, stopped(ctx, errors.Join(err, system.Close())))
}

// made shows an image that was just made.
func made(c *cli.Context, image core.Image, err error) error {
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, image)
	}
	_, err = fmt.Fprintf(c.App.Writer, "image %s is %s: %s, %d files, %s on each host\nuse it: drover pool set POOL --provider %s --image %s\n",
		image.Name, image.Digest, terminal.Size(image.Size), image.Files, terminal.Size(image.Bytes), strings.Join(imageProviders(), "|"), image.Name)
	return err
}

// imageProviders are the providers whose VMs are made of images.
func imageProviders() []string {
	var names []string
	for _, p := range core.ProviderKinds() {
		if p.Images {
			names = append(names, p.Name)
		}
	}
	return names
}

// ShortDigest is enough of a digest for people to tell images apart.
func ShortDigest(digest string) string {
	const digits = 12
	return digest[:min(len(digest), len("sha256:")+digits)]
}

// wholeRef completes a digest that was shortened as in drover image list. An unknown one is returned unchanged.
func wholeRef(ctx context.Context, h *access.Cluster, ref string) (string, error) {
	name, digest, exact := strings.Cut(ref, "@")
	if !exact || ShortDigest(digest) != digest {
		return ref, nil
	}
	images, err := h.Store.ListImages(ctx)
	if err != nil {
		return "", err
	}
	for _, image := range images {
		if image.Name == name && ShortDigest(image.Digest) == digest {
			return image.Ref(), nil
		}
	}
	return ref, nil
}

func listImages(c *cli.Context, h *access.Cluster) error {
	if err := terminal.NoArgs(c); err != nil {
		return err
	}
	images, err := h.Store.ListImages(c.Context)
	if err != nil {
		return err
	}
	if !c.Bool("all") {
		images = slices.CompactFunc(images, func(a, b core.Image) bool { return a.Name == b.Name })
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, terminal.OrEmpty(images))
	}
	rows := make([]table.Row, len(images))
	for i, image := range images {
		rows[i] = table.Row{image.Name, ShortDigest(image.Digest), terminal.Size(image.Size), terminal.Since(image.Created), terminal.Clean(image.Source)}
	}
	return terminal.PrintTable(c.App.Writer, "no images: make one with drover image build or drover image import",
		table.Row{"image", "digest", "size", "made", "of"}, rows)
}

// ImageView is what show says of an image.
type ImageView struct {
	core.Image
	Newest bool     `json:"newest"` // its name without a digest means this one
	Pools  []string `json:"pools"`  // that use it
}

func showImage(c *cli.Context, h *access.Cluster) error {
	ref, err := terminal.OneArg(c, "image")
	if err != nil {
		return err
	}
	if ref, err = wholeRef(c.Context, h, ref); err != nil {
		return err
	}
	view := ImageView{}
	if view.Image, err = h.Store.GetImage(c.Context, ref); err != nil {
		return err
	}
	newest, err := h.Store.GetImage(c.Context, view.Name)
	if err != nil {
		return err
	}
	view.Newest = newest.Digest == view.Digest
	if view.Pools, err = usersOf(c.Context, h, view.Ref(), view.Newest); err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, view)
	}
	rows := []table.Row{
		{"image", view.Name},
		{"digest", view.Digest},
		{"newest of its name", view.Newest},
		{"made", terminal.Since(view.Created)},
		{"of", terminal.Clean(view.Source)},
		{"size", terminal.Size(view.Size)},
		{"files", view.Files},
		{"size on a host", terminal.Size(view.Bytes)},
		{"used by pools", strings.Join(view.Pools, " ")},
	}
	for _, l := range view.Languages {
		rows = append(rows, table.Row{terminal.Clean(l.Name), terminal.Clean(l.Version)})
	}
	return terminal.PrintTable(c.App.Writer, "", table.Row{"", ""}, rows)
}

// usersOf lists the pools that use an image: those that name it exactly or, if it is the newest, by its name. A ref
// without a digest stands for all versions of the name.
func usersOf(ctx context.Context, h *access.Cluster, ref string, newest bool) ([]string, error) {
	pools, err := h.Store.Pools(ctx)
	if err != nil {
		return nil, err
	}
	name, _, exact := strings.Cut(ref, "@")
	users := []string{}
	for _, p := range pools {
		is, _, _ := strings.Cut(p.Image, "@")
		if p.Image == ref || p.Image == name && newest || !exact && is == name {
			users = append(users, p.Name)
		}
	}
	return users, nil
}

func removeImage(c *cli.Context, h *access.Cluster) error {
	ref, err := terminal.OneArg(c, "image")
	if err != nil {
		return err
	}
	if ref, err = wholeRef(c.Context, h, ref); err != nil {
		return err
	}
	image, err := h.Store.GetImage(c.Context, ref)
	if err != nil {
		return err
	}
	newest, err := h.Store.GetImage(c.Context, image.Name)
	if err != nil {
		return err
	}
	users, err := usersOf(c.Context, h, ref, newest.Digest == image.Digest)
	if err != nil {
		return err
	}
	if len(users) > 0 && !c.Bool("force") {
		return core.Errorf(core.CodeConflict, ref, "image %s is used by %s: give them another with drover pool set POOL --image NAME, or remove it with --force",
			ref, strings.Join(users, ", "))
	}
	if err := h.Store.DeleteImage(c.Context, ref); err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, map[string]any{"image": ref, "removed": true, "pools": users})
	}
	_, err = fmt.Fprintf(c.App.Writer, "image %s is removed; its files go with the next purge\n", ref)
	return err
}
