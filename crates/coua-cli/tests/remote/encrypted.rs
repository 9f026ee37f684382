//! TLS: a server is accepted if the system trusts its certificate.

use crate::client::Client;
use crate::server::{FREE_PORT, Kind, Server};
use crate::support::{Folder, coua, run, run_as_is};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

on_both!(a_server_is_believed_only_with_its_certificate);

fn a_server_is_believed_only_with_its_certificate(kind: Kind) {
    let folder = Folder::new();
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let names = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    let certificate = names.signed_by(&key, &authority).unwrap();
    let trusted = folder.file("authority", authority.pem());
    let certificate = folder.file("certificate", certificate.pem());
    let key = folder.file("key", key.serialize_pem());

    let options =
        ["--tls-port", FREE_PORT, "--tls-cert-file", &certificate, "--tls-key-file", &key];
    let more = ["--tls-ca-cert-file", &trusted, "--tls-auth-clients", "no"];
    let server = Server::with(kind, &[&options[..], &more].concat());
    let mut client: Client = server.client();
    let port = client.good("CONFIG GET tls-port").elements()[1].clone();
    let port = String::from_utf8(port.bytes().to_vec()).unwrap();
    let at = format!("valkeys://127.0.0.1:{port}/seen?shards=2");

    let mut trusting = coua(["add", &at, &folder.file("in", "a\nb\n")]);
    run_as_is(trusting.env("SSL_CERT_FILE", &trusted)).good();
    let items =
        ["{seen:0}", "{seen:1}"].map(|key| client.run(&format!("CF.COUNT {key} a")).to_string());
    assert!(items.contains(&":1".to_owned()), "{items:?}");

    let suspicious = run(["check", &at]);
    assert_eq!(suspicious.code, Some(2));
    assert!(suspicious.stderr.contains("certificate"), "{}", suspicious.stderr);
    let plain = run(["check", &at.replace("valkeys", "valkey")]);
    assert_eq!(plain.code, Some(2), "{}", plain.stderr);
}
