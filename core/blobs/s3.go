package blobs

import (
	"cmp"
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

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"

	"drover/core"
)

// s3Tries is how often a request is sent before its error is returned.
const s3Tries = 3

// roleSilence is how long the service that gives a machine its role may take. There is none on most machines.
const roleSilence = 10 * time.Second

// Parameters that a URL may have.
var s3Settings = []string{"endpoint", "profile", "region", "use_path_style"}

// howToName is the remedy for a URL that holds credentials.
const howToName = `the URL of a blob store holds no credentials: take them out of it, and set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY,
or name a profile of ~/.aws/credentials by AWS_PROFILE or profile=NAME`

// openS3 opens BUCKET?…, or BUCKET/FOLDER?….
func openS3(ctx context.Context, rest string) (*Store, error) {
	bucket, folder, settings, err := readS3(rest)
	if err != nil {
		return nil, err
	}
	region := cmp.Or(settings.Get("region"), os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"))
	if region == "" {
		return nil, core.Errorf(core.CodeInvalid, bucket, "the region of blob store s3://%s is not known: add region=NAME to its URL, or set AWS_REGION (for a service without regions, us-east-1)", bucket)
	}
	lookup := minio.BucketLookupAuto
	if text := settings.Get("use_path_style"); text != "" {
		pathStyle, err := strconv.ParseBool(text)
		if err != nil {
			return nil, core.Errorf(core.CodeInvalid, bucket, "use_path_style=%s of blob store s3://%s is neither true nor false", text, bucket)
		}
		lookup = minio.BucketLookupDNS
		if pathStyle {
			lookup = minio.BucketLookupPath
		}
	}
	creds, err := credentialsOf(ctx, bucket, settings.Get("profile"), region)
	if err != nil {
		return nil, err
	}
	at, err := url.Parse(cmp.Or(settings.Get("endpoint"), "https://s3.amazonaws.com"))
	if err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, bucket, "the endpoint of blob store s3://%s cannot be read", bucket)
	}
	secure := at.Scheme == "https"
	transport, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, bucket, "blob store s3://%s cannot be opened", bucket)
	}
	client, err := minio.New(at.Host, &minio.Options{
		Creds: creds, Secure: secure, Region: region, BucketLookup: lookup, MaxRetries: s3Tries, Transport: transport,
	})
	if err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, bucket, "blob store s3://%s cannot be opened", bucket)
	}
	if folder != "" {
		folder += "/"
	}
	return &Store{spool: os.TempDir(), bucket: &s3Bucket{
		client: newS3Client(client), name: bucket, folder: folder, copies: s3Copies, idle: transport.CloseIdleConnections,
	}}, nil
}

// readS3 parses a URL. Its errors quote no part that may be a secret.
func readS3(rest string) (bucket, folder string, settings url.Values, err error) {
	if plain, err := url.QueryUnescape(rest); err == nil && strings.Contains(plain, "@") || strings.Contains(rest, "@") {
		return "", "", nil, core.Errorf(core.CodeInvalid, "", "%s", howToName)
	}
	u, err := url.Parse("s3://" + rest)
	if err != nil || u.Host == "" || u.Host != u.Hostname() || u.Fragment != "" || s3utils.CheckValidBucketName(u.Host) != nil {
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
		if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || strings.Trim(at.Path, "/") != "" {
			return "", "", nil, core.Errorf(core.CodeInvalid, u.Host, "the endpoint of blob store s3://%s is no address: write endpoint=https://HOST:PORT", u.Host)
		}
	}
	return u.Host, folder, settings, nil
}

// credentialsOf returns the credentials of a profile, or of the first that has some: the environment, the default profile,
// and the role of the machine, the container or the pod. They are renewed before they expire.
func credentialsOf(ctx context.Context, bucket, profile, region string) (*credentials.Credentials, error) {
	client := &http.Client{Timeout: roleSilence}
	found := credentials.New(&credentials.FileAWSCredentials{Profile: profile})
	if profile == "" {
		found = credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{Client: client, Region: region},
		})
	}
	value, err := found.GetWithContext(&credentials.CredContext{Client: client, Context: ctx})
	if err == nil && (value.AccessKeyID == "" || value.SecretAccessKey == "") {
		err = errors.New("none of their sources has any")
	}
	return found, core.Wrap(err, core.CodeInvalid, bucket, "there are no credentials for blob store s3://%s: %s", bucket, howToName)
}

// s3Mends are the remedies for a service's refusals, by code.
var s3Mends = map[string]string{
	"NoSuchBucket":                 "its bucket does not exist: make it, or name another one",
	"NoSuchUpload":                 "it forgot an upload that was under way: try again",
	"AccessDenied":                 "the key may not do this: give it the rights that docs/operations.md lists",
	"InvalidAccessKeyId":           "it does not know the key: check AWS_ACCESS_KEY_ID or the profile",
	"SignatureDoesNotMatch":        "the key's secret is wrong: check AWS_SECRET_ACCESS_KEY or the profile",
	"ExpiredToken":                 "the credentials have expired: get new ones",
	"InvalidToken":                 "the credentials are not valid: check AWS_SESSION_TOKEN or the profile",
	"RequestTimeTooSkewed":         "the clock of this host is wrong: set it",
	"AuthorizationHeaderMalformed": "its bucket is in another region: name that with region=",
	"PermanentRedirect":            "its bucket is in another region or at another endpoint: name that with region= or endpoint=",
	"MovedPermanently":             "its bucket is in another region or at another endpoint: name that with region= or endpoint=",
}

// refusal returns the code of a service's refusal; "" for another error.
func refusal(err error) string {
	var refused minio.ErrorResponse
	if !errors.As(err, &refused) {
		return ""
	}
	return refused.Code
}
