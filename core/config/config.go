// Package config has every setting of drover in one struct: its name, its default, the source of its value, and
// whether the values fit together.
//
// A setting named max_attempts is max_attempts in the one YAML file, DROVER_MAX_ATTEMPTS in the environment and
// --max-attempts on a command line. Flags override the environment, the environment overrides the file, the file
// overrides the default. An empty environment variable counts as unset.
package config

import (
	"maps"
	"path/filepath"
	"slices"
	"time"
)

// Config has all settings. Load makes it. The tags are the only place that defines a setting's name, default, meaning
// and users:
//
//	koanf    its name in the file
//	default  its value if nobody sets it; computed ones are in defaults.go
//	shown    how a computed default is described
//	for      the commands that read it; none means all of them
//	usage    what it means, for help and documents
type Config struct {
	Redis                URL    `koanf:"redis" shown:"the socket of 'drover up' in the data folder" usage:"the cluster's Redis: redis://HOST:PORT/DB, unix:///PATH or redis+sentinel://HOST:PORT/DB?master_name=NAME&addr=HOST:PORT; rediss for TLS"`
	RedisPasswordFile    string `koanf:"redis_password_file" usage:"file that holds the password for the Redis URL, so that no list of processes shows it"`
	SentinelPasswordFile string `koanf:"sentinel_password_file" usage:"file that holds the password of the Sentinels, if they ask for one"`
	Store                URL    `koanf:"store" shown:"drover.db in the data folder" usage:"the result store: sqlite:///PATH for one machine, or mongodb://USER@HOST:PORT,HOST:PORT/DATABASE?replicaSet=NAME or mongodb+srv://USER@NAME/DATABASE"`
	StorePasswordFile    string `koanf:"store_password_file" usage:"file that holds the password for a store URL of MongoDB, so that no list of processes shows it"`
	Blobs                URL    `koanf:"blobs" shown:"blobs in the data folder" usage:"where files are kept: file:///PATH, or s3://BUCKET/FOLDER?region=REGION&endpoint=URL&use_path_style=true with the key in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or a profile"`
	Namespace            string `koanf:"namespace" default:"drover" usage:"what every Redis key begins with"`
	Host                 string `koanf:"host" shown:"the machine's name" usage:"name of this host in the cluster"`
	Data                 string `koanf:"data" shown:"/var/lib/drover for root, else drover in the user's data folder" usage:"folder of what must survive a restart"`
	Run                  string `koanf:"run" shown:"run/HOST in the data folder" usage:"folder of sockets, locks and VMs of this host"`

	Server        string        `koanf:"server" for:"client" usage:"the site that commands of users ask instead of a cluster, such as https://drover.example.org; see drover login"`
	Logins        string        `koanf:"logins" shown:"logins.json in drover's folder of the user's configuration" for:"client" usage:"file of the sites where one is signed in, with their tokens"`
	ServerTimeout time.Duration `koanf:"server_timeout" default:"30s" for:"client" usage:"how long a command waits for a site that does not answer; 0 for not at all"`

	LogLevel  string `koanf:"log_level" default:"info" usage:"least severe messages to log: debug, info, warn or error"`
	LogFormat string `koanf:"log_format" default:"text" usage:"text for people, json for programs"`

	MaxWaiting      int           `koanf:"max_waiting" default:"1000000" usage:"most requests that Redis holds unfinished; more are refused"`
	MaxWaitingBytes Size          `koanf:"max_waiting_bytes" default:"1GiB" usage:"most memory that their specs may take in Redis; more are refused"`
	LiveOutput      Size          `koanf:"live_output" default:"256MiB" for:"testrunner" usage:"most live output that Redis holds, of each submitter an eighth; the oldest of what has ended goes first"`
	MaxAttempts     int           `koanf:"max_attempts" default:"3" usage:"VMs that die under a request after which it is dead"`
	MaxDeaths       int           `koanf:"max_deaths" default:"2" for:"testrunner overseer" usage:"deaths of testrunners or hosts that have a request alone in hand, or apart, after which it is dead: it may be what kills them; 0 for never"`
	Poll            time.Duration `koanf:"poll" default:"1s" usage:"how often an idle component looks for work even if no bell rings"`

	MetricsListen string `koanf:"metrics_listen" for:"testrunner vmfactory taskrunner overseer" usage:"address of /healthz and /metrics, such as 127.0.0.1:9420, for all components of a host: the vmfactory has that port, the testrunner the next one, then the taskrunner and the overseer; empty for none"`

	Drain time.Duration `koanf:"drain" default:"60s" for:"testrunner vmfactory taskrunner overseer" usage:"how long a stopping component may finish what it has in hand before it gives it back"`
	Beat  time.Duration `koanf:"beat" default:"1s" for:"testrunner vmfactory taskrunner overseer" usage:"between an owner's heartbeats; the same for the whole cluster"`
	Slots int           `koanf:"slots" shown:"one for each CPU" for:"testrunner taskrunner" usage:"pieces of work that one process has in hand at once"`
	Pools []string      `koanf:"pools" default:"all" for:"testrunner vmfactory" usage:"pools that this host serves, in the order to look in; all serves every pool, new ones too"`

	TaskRates     []string      `koanf:"task_rates" shown:"those of the kinds" for:"taskrunner" usage:"how often tasks of a kind may begin in the whole cluster, and how many may be in hand, where that is not to be as the kind has it: KIND=N/TIME:burst=N:most=N, each part optional, or KIND=none; none alone for no bounds"`
	KeepDownloads time.Duration `koanf:"keep_downloads" default:"24h" for:"taskrunner" usage:"how long what a task made, such as an archive, can be fetched"`

	SubmitRate  string `koanf:"submit_rate" default:"60/1h:burst=20" usage:"how often one student may submit or have something tested again, in all classes together: N/TIME:burst=N; none for any number"`
	SubmitBytes Size   `koanf:"submit_bytes" default:"2GiB" usage:"most bytes of files that one student may submit within an hour; 0 for any number"`

	WebhookAllow []string `koanf:"webhook_allow" usage:"networks beside the public ones to which webhooks may go, also by http, such as 10.1.2.0/24"`

	LeaseCleaning time.Duration `koanf:"lease_cleaning" default:"0s" usage:"time between two leases of the same room of a host"`
	LeaseLongest  time.Duration `koanf:"lease_longest" default:"0s" usage:"longest lease that somebody who is no administrator may make; 0 for any"`

	SMTP             URL    `koanf:"smtp" for:"web taskrunner" usage:"server that sends drover's mail: smtp://USER@HOST:PORT, which must speak STARTTLS, or smtps:// for TLS from the start; smtp://HOST:25?starttls=off for one on this machine; without it drover sends none"`
	SMTPPasswordFile string `koanf:"smtp_password_file" for:"web taskrunner" usage:"file that holds the user's password there, so that no list of processes shows it"`
	MailFrom         string `koanf:"mail_from" for:"web taskrunner" usage:"sender of drover's mail, such as Drover <drover@example.org>"`

	Listen         string   `koanf:"listen" for:"web" usage:"address of the site: web has it at 127.0.0.1:8080 without, up has no site then"`
	SiteURL        string   `koanf:"site_url" shown:"http:// and the address that it listens on" for:"web" usage:"address by which browsers reach the site, such as https://drover.example.org"`
	SiteName       string   `koanf:"site_name" default:"drover" for:"web" usage:"what the site is called on its pages"`
	Announcement   string   `koanf:"announcement" for:"web" usage:"sentence that every page shows, such as of work to come"`
	GitHosts       []string `koanf:"git_hosts" default:"github.com,gitlab.com,codeberg.org" for:"web" usage:"hosts whose public Git repositories may be submitted, fetched by the program git; none for none"`
	TLSCert        string   `koanf:"tls_cert" for:"web" usage:"file with the site's certificate and those that lead to it, in PEM, to speak https without a proxy"`
	TLSKey         string   `koanf:"tls_key" for:"web" usage:"file with the certificate's key, in PEM"`
	Proxies        []string `koanf:"proxies" for:"web" usage:"networks of proxies in front of the site whose X-Forwarded-For is believed, such as 10.0.0.5/32"`
	OIDCIssuer     string   `koanf:"oidc_issuer" for:"web" usage:"URL of a provider of OpenID Connect by which users sign in too"`
	OIDCName       string   `koanf:"oidc_name" default:"OpenID Connect" for:"web" usage:"what that is called on the page, such as a school's name"`
	OIDCClient     string   `koanf:"oidc_client" for:"web" usage:"the site's client id there"`
	HostConfig     string   `koanf:"host_config" for:"web" usage:"YAML file of what the site hands out to hosts that join: their settings, among them redis, store and blobs; files of passwords that it names are handed out, too; without it no host joins by this site"`
	OIDCSecretFile string   `koanf:"oidc_secret_file" for:"web" usage:"file that holds the site's client secret there"`

	Judge0Pool      string   `koanf:"judge0_pool" default:"default" for:"web" usage:"pool in whose VMs what programs send that know Judge0 runs"`
	Judge0Languages string   `koanf:"judge0_languages" for:"web" usage:"YAML file with the languages for such programs; without it some that most images have"`
	TangoImages     []string `koanf:"tango_images" for:"web" usage:"pools for the images that programs name that know Tango: IMAGE=POOL; an image that is not listed is the pool of its own name"`
	JobePool        string   `koanf:"jobe_pool" default:"default" for:"web" usage:"pool in whose VMs what CodeRunner and other programs send that know Jobe runs"`
	JobeLanguages   string   `koanf:"jobe_languages" for:"web" usage:"YAML file with the languages for such programs; without it Jobe's and some that most images have"`

	CacheBytes Size `koanf:"cache_bytes" default:"1GiB" for:"testrunner" usage:"disk that a host's cache of harnesses may take"`

	Provider       []string      `koanf:"provider" default:"local" for:"vmfactory" usage:"what makes this host's VMs: one or several of the providers that drover pool set --help names"`
	EgressDNS      []string      `koanf:"egress_dns" default:"9.9.9.9,1.1.1.1" for:"vmfactory" usage:"servers of names, by address, for pools with network egress"`
	EgressClosed   []string      `koanf:"egress_closed" for:"vmfactory" usage:"networks that those do not reach either, such as 192.0.2.0/24 of the cluster's own machines; private and reserved ones are closed anyway"`
	Agent          string        `koanf:"agent" shown:"drover-agent beside drover" for:"vmfactory" usage:"the program that VMs start as their agent"`
	Cgroup         string        `koanf:"cgroup" shown:"one is found" for:"vmfactory" usage:"cgroup of version 2 to make VMs' cgroups in, such as /drover.slice; off to use none"`
	SelfTest       string        `koanf:"self_test" default:"on" for:"vmfactory" usage:"attack a disposable VM before this host takes work: on, warn to use the host all the same if it fails, or off"`
	MaxVMs         int           `koanf:"max_vms" default:"0" for:"vmfactory" usage:"most VMs on this host, of all pools together; 0 leaves it to the pools"`
	CheckEvery     time.Duration `koanf:"check_every" default:"30s" for:"vmfactory" usage:"between health checks of the clean VMs"`
	ReconcileEvery time.Duration `koanf:"reconcile_every" default:"1m" for:"vmfactory" usage:"between comparisons of Redis with what is really on the host"`
	CreateTimeout  time.Duration `koanf:"create_timeout" default:"30s" for:"vmfactory" usage:"of each of the two phases of making a VM, after which it is given up"`
	DestroyTimeout time.Duration `koanf:"destroy_timeout" default:"30s" for:"vmfactory" usage:"of one try to destroy a VM; after three it is quarantined for a person"`

	Suspect          time.Duration `koanf:"suspect" default:"3s" for:"overseer" usage:"how long ago the last heartbeat may be before a host gets no new work"`
	Down             time.Duration `koanf:"down" default:"5s" for:"overseer" usage:"how long ago it may be before an owner or host is fenced and its work taken back"`
	Monitors         []string      `koanf:"monitors" default:"heartbeat,provider,report,command" for:"overseer" usage:"what is believed about hosts' failures: heartbeat (heartbeats), provider (what their vmfactories say), report (drover host report, and others who write to the stream), command (the program of monitor_command, if there is one); none for nothing"`
	MonitorEvery     []string      `koanf:"monitor_every" shown:"heartbeat=a quarter of the beat,provider=5s,command=30s" for:"overseer" usage:"how often monitors look, where that is not to be as usual: MONITOR=TIME; report waits for reports"`
	MonitorCommand   string        `koanf:"monitor_command" for:"overseer" usage:"program that gets all hosts, a line of JSON each, and prints failed HOST WHY or recovered HOST WHY; it may mend them too"`
	ConsistencyEvery time.Duration `koanf:"consistency_every" default:"1m" for:"overseer" usage:"between checks of all that Redis holds; what is wrong is logged and counted in drover_consistency_broken"`
	KeepFinished     time.Duration `koanf:"keep_finished" default:"720h" for:"overseer" usage:"how long finished work stays in the result store"`
	KeepHistory      time.Duration `koanf:"keep_history" default:"720h" for:"overseer" usage:"how long the result store keeps changes of state, and statistics by the hour"`
	LeaseLead        time.Duration `koanf:"lease_lead" default:"15m" for:"overseer" usage:"how long before a lease starts its VMs are made"`
	LeaseHealing     time.Duration `koanf:"lease_healing" default:"1h" for:"overseer" usage:"leases that start within this time are healed at once when a host fails, later ones when they come into it; 0 for all at once"`
	LeasesEvery      time.Duration `koanf:"leases_every" default:"2s" for:"overseer" usage:"between looks at leases: for events that are due, and hosts that cannot hold what is reserved"`
	KeepTombstones   time.Duration `koanf:"keep_tombstones" default:"1h" for:"overseer" usage:"how long Redis remembers ended ids, longer than any retry"`

	file    string            // the file that was read; "" if none
	inFile  []string          // settings whose URL in it has a password
	sources map[string]Source // by name in the file
}

// The formats of logs.
const (
	LogText = "text"
	LogJSON = "json"
)

// What a host does after a failed self-test.
const (
	SelfTestOn   = "on"
	SelfTestWarn = "warn"
	SelfTestOff  = "off"
)

// The monitors of hosts.
const (
	MonitorHeartbeat = "heartbeat"
	MonitorProvider  = "provider"
	MonitorReport    = "report"
	MonitorCommand   = "command"
	MonitorNone      = "none" // stands alone: no monitors
)

// RatesNone means no bound: alone in TaskRates or SubmitRate, or as the rate of a kind.
const RatesNone = "none"

// Source is where a value came from: "default", "file PATH", "environment DROVER_X" or "flag --x".
type Source string

// Default is the source of a value that nobody set.
const Default Source = "default"

// Source returns where the value of a setting, by its name in the file, came from.
func (c *Config) Source(name string) Source {
	if s, ok := c.sources[name]; ok {
		return s
	}
	return Default
}

// File returns the path of the file that was read, or "" if there was none.
func (c *Config) File() string { return c.file }

// In returns a copy for a cluster that is entirely in the folder dir, whatever the settings for data, Redis, store
// and blobs are.
func (c *Config) In(dir string) *Config {
	in := *c
	in.sources, in.Pools, in.Provider = maps.Clone(c.sources), slices.Clone(c.Pools), slices.Clone(c.Provider)
	in.Monitors, in.TaskRates = slices.Clone(c.Monitors), slices.Clone(c.TaskRates)
	in.MonitorEvery = slices.Clone(c.MonitorEvery)
	for _, name := range []string{"data", "run", "redis", "redis_password_file", "sentinel_password_file", "store", "store_password_file", "blobs"} {
		delete(in.sources, name)
	}
	in.Data, in.Run = dir, filepath.Join(dir, "run", c.Host)
	in.RedisPasswordFile, in.SentinelPasswordFile, in.StorePasswordFile = "", "", ""
	in.Redis, in.Store, in.Blobs = "", "", ""
	in.fillURLs()
	return &in
}
