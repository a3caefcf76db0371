"""LoginSet: the pods people ssh into."""

from __future__ import annotations

from typing import Annotated, ClassVar

from penstock.api.controller import ContractChoice
from penstock.api.objects import (
    Conditions,
    Container,
    ControllerReference,
    Count,
    Json,
    ObjectMeta,
    Part,
    PodTemplate,
    SecretKeySelector,
    ServiceTemplate,
    documented,
)


class LoginSetSpec(Part, frozen=True):
    """What a LoginSet should be."""

    controller_ref: Annotated[ControllerReference, documented("The Controller of the cluster. Cannot change.")]
    sssd_conf_ref: Annotated[SecretKeySelector, documented("The Secret with sssd.conf.")]
    replicas: Annotated[Count, documented("How many login pods.")] = 1
    login: Container = {}
    initconf: Container = {}
    template: Annotated[PodTemplate, documented("Merged onto the login pods.")] = PodTemplate()
    root_ssh_authorized_keys: Annotated[str | None, documented("authorized_keys of root.", maxLength=262144)] = None
    extra_sshd_config: Annotated[str | None, documented("Text appended to sshd_config.", maxLength=65536)] = None
    strategy: Annotated[
        Json, documented("The Deployment's strategy.", **{"x-kubernetes-preserve-unknown-fields": True})
    ] = {}
    service: Annotated[ServiceTemplate, documented("The Service in front of sshd.")] = ServiceTemplate()
    image_contract: ContractChoice = None


class LoginSetStatus(Part, frozen=True):
    """What is known about a LoginSet."""

    replicas: Annotated[int, documented("Pods that exist.")] = 0
    selector: Annotated[str, documented("Label selector of the pods.")] = ""
    conditions: Conditions = []


class LoginSet(Part, frozen=True):
    """Login nodes of a cluster."""

    kind: ClassVar[str] = "LoginSet"

    metadata: ObjectMeta
    spec: LoginSetSpec
    status: LoginSetStatus = LoginSetStatus()
