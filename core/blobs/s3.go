package blobs

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	gcaws "gocloud.dev/aws"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"

	"drover/core"
)

// s3Silence is how long a service may take to begin an answer. For slow operations it sends signs of progress.
const s3Silence = time.Minute

// s3Copies is the largest object that S3 copies at once.
const s3Copies = 5 << 30

// Parameters that a URL may have. The rest of the settings come from the environment and the files of the AWS tools.
var s3Settings = []string{
	"dualstack", "endpoint", "fips", "profile", "region", "request_checksum_calculation",
	"response_checksum_validation", "role", "ssetype", "use_path_style",
}

// howToName is the remedy for a URL that holds credentials.
const howToName = `the URL of a blob store holds no credentials: take them out of it, and set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY,
or name a profile of ~/.aws/credentials by AWS_PROFILE or profile=NAME`

// openS3 opens BUCKET?…, or BUCKET/FOLDER?….
func openS3(ctx context.Context, rest string) (*Store, error) {
	bucket, folder, settings, err := readS3(rest)
	if err != nil {
		return nil, err
	}
	opts := &s3blob.Options{}
	var pathStyle bool
	if text := settings.Get("use_path_style"); text != "" {
		if pathStyle, err = strconv.ParseBool(text); err != nil {
			return nil, core.Errorf(core.CodeInvalid, bucket, "use_path_style=%s of blob store s3://%s is neither true nor false", text, bucket)
		}
	}
	if text := settings.Get("ssetype"); text != "" {
		opts.EncryptionType = types.ServerSideEncryption(text)
		if !slices.Contains(opts.EncryptionType.Values(), opts.EncryptionType) {
			return nil, core.Errorf(core.CodeInvalid, bucket, "ssetype=%s of blob store s3://%s is none that S3 has", text, bucket)
		}
	}
	settings.Del("use_path_style")
	settings.Del("ssetype")
	cfg, err := gcaws.V2ConfigFromURLParams(ctx, settings)
	if err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, bucket, "the settings of blob store s3://%s cannot be", bucket)
	}
	if err := checkS3(ctx, cfg, bucket); err != nil {
		return nil, err
	}
	opts.RequestChecksumCalculation = cfg.RequestChecksumCalculation
	client := bounded(cfg.HTTPClient)
	cfg.HTTPClient = client
	service := s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.UsePathStyle = pathStyle
		o.DisableLogOutputChecksumValidationSkipped = true // digests are checked here
	})
	b, err := s3blob.OpenBucket(ctx, service, bucket, opts)
	if err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, bucket, "blob store s3://%s cannot be opened", bucket)
	}
	if folder != "" {
		b = blob.PrefixedBucket(b, folder+"/")
	}
	return &Store{bucket: b, spool: os.TempDir(), copies: s3Copies, idle: client.CloseIdleConnections}, nil
}

// readS3 parses a URL. Its errors quote no part that may be a secret.
func readS3(rest string) (bucket, folder string, settings url.Values, err error) {
	if plain, err := url.QueryUnescape(rest); err == nil && strings.Contains(plain, "@") || strings.Contains(rest, "@") {
		return "", "", nil, core.Errorf(core.CodeInvalid, "", "%s", howToName)
	}
	u, err := url.Parse("s3://" + rest)
	if err != nil || u.Host == "" || u.Host != u.Hostname() || u.Fragment != "" {
		return "", "", nil, core.Errorf(core.CodeInvalid, "", "this URL of a blob store cannot be read: write s3://BUCKET?region=REGION or s3://BUCKET/FOLDER?region=REGION")
	}
	folder = strings.Trim(u.Path, "/")
	if strings.Contains(folder, "//") {
		return "", "", nil, core.Errorf(core.CodeInvalid, u.Host, "a folder of blob store s3://%s has no name: take out the double slash", u.Host)
	}
	settings, err = url.ParseQuery(u.RawQuery)
	if err != nil {
		return "", "", nil, core.Errorf(core.CodeInvalid, u.Host, "what follows the ? of blob store s3://%s cannot be read: write NAME=VALUE, with & between them", u.Host)
	}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if !slices.Contains(s3Settings, name) {
			return "", "", nil, core.Errorf(core.CodeInvalid, u.Host, "blob store s3://%s has no setting %.40q: there are %s; %s",
				u.Host, name, strings.Join(s3Settings, ", "), howToName)
		}
	}
	if endpoint := settings.Get("endpoint"); endpoint != "" {
		at, err := url.Parse(endpoint)
		if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
			return "", "", nil, core.Errorf(core.CodeInvalid, u.Host, "the endpoint of blob store s3://%s is no address: write endpoint=https://HOST:PORT", u.Host)
		}
	}
	return u.Host, folder, settings, nil
}

// checkS3 returns what the environment lacks.
func checkS3(ctx context.Context, cfg aws.Config, bucket string) error {
	if cfg.Region == "" {
		return core.Errorf(core.CodeInvalid, bucket, "the region of blob store s3://%s is not known: add region=NAME to its URL, or set AWS_REGION (for a service without regions, us-east-1)", bucket)
	}
	if cfg.Credentials == nil {
		return core.Errorf(core.CodeInvalid, bucket, "there are no credentials for blob store s3://%s: %s", bucket, howToName)
	}
	if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
		return core.Wrap(err, core.CodeInvalid, bucket, "there are no credentials for blob store s3://%s: %s", bucket, howToName)
	}
	return nil
}

// bounded returns the configured HTTP client with a timeout. It follows no redirects, because signatures hold for one
// address.
func bounded(asked aws.HTTPClient) *http.Client {
	built, ok := asked.(*awshttp.BuildableClient)
	if !ok {
		built = awshttp.NewBuildableClient()
	}
	transport := built.GetTransport()
	transport.ResponseHeaderTimeout = s3Silence
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// s3Mends are the remedies for a service's refusals, by code.
var s3Mends = map[string]string{
	"NoSuchBucket":                 "its bucket does not exist: make it, or name another one",
	"NoSuchUpload":                 "it forgot an upload that was under way: try again",
	"AccessDenied":                 "the key may not do this: give it the rights that docs/operations.md lists",
	"Forbidden":                    "the key may not do this: give it the rights that docs/operations.md lists",
	"InvalidAccessKeyId":           "it does not know the key: check AWS_ACCESS_KEY_ID or the profile",
	"SignatureDoesNotMatch":        "the key's secret is wrong: check AWS_SECRET_ACCESS_KEY or the profile",
	"ExpiredToken":                 "the credentials have expired: get new ones",
	"InvalidToken":                 "the credentials are not valid: check AWS_SESSION_TOKEN or the profile",
	"RequestTimeTooSkewed":         "the clock of this host is wrong: set it",
	"AuthorizationHeaderMalformed": "its bucket is in another region: name that with region=",
	"PermanentRedirect":            "its bucket is in another region or at another endpoint: name that with region= or endpoint=",
	"MovedPermanently":             "its bucket is in another region or at another endpoint: name that with region= or endpoint=",
}

// mendOf returns the remedy for an error of an S3 service; "" if there is none.
func mendOf(err error) string {
	var refused smithy.APIError
	if !errors.As(err, &refused) {
		return ""
	}
	return s3Mends[refused.ErrorCode()]
}
