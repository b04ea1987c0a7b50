CREATE INDEX ix_return_links_judge ON return_links (judge);

CREATE INDEX offers_of_judge ON offers (judge);

CREATE TABLE "comments" (
	offer INTEGER NOT NULL,
	question VARCHAR(20) DEFAULT '' NOT NULL,
	reasons TEXT NOT NULL,
	comment TEXT NOT NULL,
	written DATETIME NOT NULL,
	PRIMARY KEY (offer, question),
	FOREIGN KEY(offer) REFERENCES offers (id)
);

CREATE TABLE "judgements" (
	id INTEGER NOT NULL,
	offer INTEGER NOT NULL,
	outcome VARCHAR(8) NOT NULL,
	answered DATETIME NOT NULL,
	grade INTEGER,
	question VARCHAR(20) DEFAULT '' NOT NULL,
	PRIMARY KEY (id),
	FOREIGN KEY(offer) REFERENCES offers (id),
	CONSTRAINT one_answer UNIQUE (offer, question)
);

CREATE TABLE "undone" (
	judgement INTEGER NOT NULL,
	at DATETIME NOT NULL,
	PRIMARY KEY (judgement),
	FOREIGN KEY(judgement) REFERENCES "judgements" (id)
);

CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL,
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);

CREATE TABLE current (
	"key" VARCHAR(32) NOT NULL,
	made DATETIME NOT NULL,
	value BLOB NOT NULL,
	PRIMARY KEY ("key")
);

CREATE TABLE deeds (
	id INTEGER NOT NULL,
	at DATETIME NOT NULL,
	researcher INTEGER,
	what VARCHAR(32) NOT NULL,
	about TEXT NOT NULL,
	why TEXT NOT NULL,
	PRIMARY KEY (id),
	FOREIGN KEY(researcher) REFERENCES researchers (id)
);

CREATE TABLE devices (
	secret VARCHAR(64) NOT NULL,
	researcher INTEGER NOT NULL,
	seen DATETIME NOT NULL,
	PRIMARY KEY (secret, researcher),
	FOREIGN KEY(researcher) REFERENCES researchers (id)
);

CREATE TABLE drafts (
	offer INTEGER NOT NULL,
	question VARCHAR(20) NOT NULL,
	outcome VARCHAR(8) NOT NULL,
	grade INTEGER,
	answered DATETIME NOT NULL,
	PRIMARY KEY (offer, question),
	FOREIGN KEY(offer) REFERENCES offers (id)
);

CREATE TABLE erased (
	id INTEGER NOT NULL,
	judge VARCHAR(64) NOT NULL,
	at DATETIME NOT NULL,
	judgements INTEGER NOT NULL,
	PRIMARY KEY (id)
);

CREATE TABLE exclusions (
	id INTEGER NOT NULL,
	judge VARCHAR(64) NOT NULL,
	excluded BOOLEAN NOT NULL,
	reason TEXT NOT NULL,
	at DATETIME NOT NULL,
	PRIMARY KEY (id),
	FOREIGN KEY(judge) REFERENCES judges (id)
);

CREATE TABLE fit_settings (
	"key" VARCHAR(32) NOT NULL,
	value TEXT NOT NULL,
	since DATETIME NOT NULL,
	PRIMARY KEY ("key")
);

CREATE TABLE identifiers (
	judge VARCHAR(64) NOT NULL,
	name VARCHAR(64) NOT NULL,
	value TEXT NOT NULL,
	PRIMARY KEY (judge, name),
	FOREIGN KEY(judge) REFERENCES judges (id)
);

CREATE TABLE invites (
	id INTEGER NOT NULL,
	code VARCHAR(64) NOT NULL,
	made DATETIME NOT NULL, label TEXT, mail TEXT, fault TEXT, issued DATETIME, sent DATETIME,
	PRIMARY KEY (id),
	UNIQUE (code)
);

CREATE TABLE judges (
	id VARCHAR(64) NOT NULL,
	secret VARCHAR(64) NOT NULL,
	invite INTEGER,
	language VARCHAR(8) NOT NULL,
	consent VARCHAR(64) NOT NULL,
	consented DATETIME NOT NULL,
	chose BOOLEAN NOT NULL,
	withdrawn DATETIME, person VARCHAR(64),
	PRIMARY KEY (id),
	FOREIGN KEY(invite) REFERENCES invites (id),
	UNIQUE (invite),
	UNIQUE (secret)
);

CREATE TABLE known (
	judge VARCHAR(64) NOT NULL,
	"group" TEXT NOT NULL,
	PRIMARY KEY (judge, "group"),
	FOREIGN KEY(judge) REFERENCES judges (id)
);

CREATE TABLE leases (
	task VARCHAR(32) NOT NULL,
	holder VARCHAR(64) NOT NULL,
	until DATETIME NOT NULL,
	PRIMARY KEY (task)
);

CREATE TABLE lists (
	name VARCHAR(60) NOT NULL,
	judge VARCHAR(64) NOT NULL,
	taken DATETIME NOT NULL,
	PRIMARY KEY (name),
	FOREIGN KEY(judge) REFERENCES judges (id),
	UNIQUE (judge)
);

CREATE TABLE meaning (
	"key" VARCHAR(64) NOT NULL,
	value TEXT NOT NULL,
	since DATETIME NOT NULL,
	PRIMARY KEY ("key")
);

CREATE TABLE offers (
	id INTEGER NOT NULL,
	judge VARCHAR(64) NOT NULL,
	"left" TEXT NOT NULL,
	"right" TEXT NOT NULL,
	kind VARCHAR(8) NOT NULL,
	shown DATETIME NOT NULL,
	closed DATETIME,
	PRIMARY KEY (id),
	FOREIGN KEY(judge) REFERENCES judges (id)
);

CREATE TABLE paper (
	offer INTEGER NOT NULL,
	entered_by TEXT NOT NULL,
	entered DATETIME NOT NULL,
	PRIMARY KEY (offer),
	FOREIGN KEY(offer) REFERENCES offers (id)
);

CREATE TABLE passes (
	id INTEGER NOT NULL,
	secret VARCHAR(64) NOT NULL,
	opens VARCHAR(16) NOT NULL,
	label TEXT NOT NULL,
	researcher INTEGER,
	made DATETIME NOT NULL,
	until DATETIME,
	ended DATETIME, may_reset BOOLEAN DEFAULT 0 NOT NULL,
	PRIMARY KEY (id),
	FOREIGN KEY(researcher) REFERENCES researchers (id),
	UNIQUE (secret)
);

CREATE TABLE phases (
	id INTEGER NOT NULL,
	phase VARCHAR(8) NOT NULL,
	at DATETIME NOT NULL,
	PRIMARY KEY (id)
);

CREATE TABLE researchers (
	id INTEGER NOT NULL,
	name VARCHAR(100) NOT NULL,
	password TEXT,
	made DATETIME NOT NULL,
	removed DATETIME,
	PRIMARY KEY (id),
	UNIQUE (name)
);

CREATE TABLE return_links (
	secret VARCHAR(64) NOT NULL,
	judge VARCHAR(64) NOT NULL,
	made DATETIME NOT NULL,
	opened DATETIME,
	PRIMARY KEY (secret),
	FOREIGN KEY(judge) REFERENCES judges (id)
);

CREATE TABLE said (
	judge VARCHAR(64) NOT NULL,
	field VARCHAR(64) NOT NULL,
	value TEXT NOT NULL,
	PRIMARY KEY (judge, field),
	FOREIGN KEY(judge) REFERENCES judges (id)
);

CREATE TABLE sessions (
	secret VARCHAR(64) NOT NULL,
	researcher INTEGER NOT NULL,
	begun DATETIME NOT NULL,
	seen DATETIME NOT NULL,
	ended DATETIME, may_reset BOOLEAN DEFAULT 0 NOT NULL,
	PRIMARY KEY (secret),
	FOREIGN KEY(researcher) REFERENCES researchers (id)
);

CREATE TABLE sign_in_attempts (
	sender VARCHAR(64) NOT NULL,
	number INTEGER NOT NULL,
	until DATETIME NOT NULL,
	PRIMARY KEY (sender)
);

CREATE TABLE snapshots (
	id INTEGER NOT NULL,
	made DATETIME NOT NULL,
	pulse VARCHAR(64) NOT NULL,
	comparisons INTEGER NOT NULL,
	seconds FLOAT NOT NULL,
	body BLOB NOT NULL, question VARCHAR(20) DEFAULT '' NOT NULL,
	PRIMARY KEY (id)
);

CREATE UNIQUE INDEX one_judge_a_person ON judges (person);

CREATE UNIQUE INDEX one_open_offer ON offers (judge) WHERE closed IS NULL;
